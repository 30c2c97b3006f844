import { BUILD_LOGIN_TYPE, LISTENER_KEY_TYPE, type Secret, SECRET_TYPE } from '#lib/resources';
import { isSecretOfPlatform } from './platform-secrets.js';
import { deployment, revision } from './testdata/sample-world.js';

const caches = {
  deployments: { list: () => [deployment()] },
  revisions: { list: () => [revision(1)] },
  destinations: { list: () => [] },
};
const secret = (name: string, type = 'Opaque'): Secret => ({ metadata: { name, namespace: 'ws' }, type });

describe('isSecretOfPlatform', () => {
  it.each([
    ['the login of a build, by its type', secret('x', BUILD_LOGIN_TYPE), true],
    ['the login of a build, by its revision', secret(`${revision(1).metadata.name}-build`), true],
    ['the key of a listener', secret('x', LISTENER_KEY_TYPE), true],
    ['the git integrations', secret('x', SECRET_TYPE.gitIntegrations), true],
    ['the database of a deployment', secret(`${deployment().metadata.name}-database`), true],
    ["a person's own Secret", secret('x-build'), false],
  ])('judges %s', (_, one, expected) => {
    expect(isSecretOfPlatform(one, caches)).toBe(expected);
  });
});
