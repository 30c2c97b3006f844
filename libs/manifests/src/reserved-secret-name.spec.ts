import {
  databaseSecretName,
  databaseServerName,
  listenerKeyName,
  listenerObjectName,
  platformSecretName,
  revisionBuildName,
  revisionEnvSecretName,
  revisionName,
} from '#lib/resources';
import { GIT_INTEGRATIONS, isReservedClaimName, isReservedSecretName } from './reserved-secret-name.js';

const NAMES = ['a', 'shop', 'a'.repeat(57)];

describe('isReservedSecretName', () => {
  it.each<[string, (deployment: string) => string, boolean]>([
    ['the key of a deployment', platformSecretName, true],
    ['the database of a deployment', databaseSecretName, true],
    ['the variables of a revision', (name) => revisionEnvSecretName(revisionName(name, 12)), true],
    ['the variables of a late revision', (name) => revisionEnvSecretName(revisionName(name, 123_456)), true],
    ['the access to the hub', (name) => `${listenerObjectName(name)}-hub`, true],
    ['the superuser of a database server', databaseServerName, false],
    ['the login of a build', (name) => revisionBuildName(revisionName(name, 12)), false],
    ['the key of a listener', listenerKeyName, false],
    ['the credentials of a destination', (name) => `${name}-credentials`, false],
    ['changed credentials of a destination', (name) => `${name}-credentials-0badcafe`, false],
    ['the git integrations', () => GIT_INTEGRATIONS, false],
  ])('knows the name of %s', (_secret, nameOf, isRemoteToo) => {
    for (const name of NAMES.map(nameOf)) {
      expect([name, isReservedSecretName(name, 'home')]).toEqual([name, true]);
      expect([name, isReservedSecretName(name, 'remote')]).toEqual([name, isRemoteToo]);
    }
  });

  it.each([
    'words',
    'openai',
    'database',
    '-platform',
    'shop-env',
    'credentials',
    'listener-key',
    'my-database-x',
  ])('leaves %s to users', (name) => {
    expect(isReservedSecretName(name, 'home')).toBe(false);
  });
});

describe('isReservedClaimName', () => {
  it('knows volumes of Postgres servers', () => {
    expect(NAMES.map(databaseServerName).map(isReservedClaimName)).toEqual([true, true, true]);
    expect(['postgres', 'files', 'shop-postgres-copy'].map(isReservedClaimName)).toEqual([
      false,
      false,
      false,
    ]);
  });
});
