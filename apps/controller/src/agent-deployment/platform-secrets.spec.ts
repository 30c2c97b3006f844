import { BUILD_LOGIN_TYPE, LISTENER_KEY_TYPE, type Secret, SECRET_TYPE } from '#lib/resources';
import { isSecretOfPlatform } from './refused-object.js';
import { deployment, revision } from './testdata/sample-world.js';

const caches = {
  deployments: { list: () => [deployment()] },
  revisions: { list: () => [revision(1)] },
  destinations: { list: () => [] },
};
const secret = (name: string, type = 'Opaque', metadata: Partial<Secret['metadata']> = {}): Secret => ({
  metadata: { name, namespace: 'ws', ...metadata },
  type,
});
const TOKEN = 'kubernetes.io/service-account-token';
const tokenOf = (account: string) =>
  secret('x', TOKEN, { annotations: { 'kubernetes.io/service-account.name': account } });
const ownedBy = (kind: string, uid: string, apiVersion = 'agentplane.dev/v1alpha1') =>
  secret('x', 'Opaque', { ownerReferences: [{ apiVersion, kind, name: 'n', uid }] });

describe('isSecretOfPlatform', () => {
  it.each([
    ['the login of a build, by its type', secret('x', BUILD_LOGIN_TYPE), true],
    ['the login of a build, by its revision', secret(`${revision(1).metadata.name}-build`), true],
    ['the key of a listener', secret('x', LISTENER_KEY_TYPE), true],
    ['the git integrations', secret('x', SECRET_TYPE.gitIntegrations), true],
    ['the database of a deployment', secret(`${deployment().metadata.name}-database`), true],
    ['the token of the account of a listener', tokenOf('listener-default'), true],
    ["the token of a person's own account", tokenOf('mine'), false],
    ['what another deployment was given', ownedBy('AgentDeployment', 'other'), true],
    ['what is left of a revision', ownedBy('AgentRevision', 'gone'), true],
    ['what the deployment itself was given', ownedBy('AgentDeployment', 'u'), false],
    ['what an operator of another kind keeps', ownedBy('ExternalSecret', 'e', 'other.dev/v1'), false],
    ["a person's own Secret", secret('x-build'), false],
  ])('judges %s', (_, one, expected) => {
    expect(isSecretOfPlatform(one, deployment(), caches)).toBe(expected);
  });
});
