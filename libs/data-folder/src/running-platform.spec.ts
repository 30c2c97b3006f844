import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownIdentity } from '#lib/process-identity';
import { temporaryFolder } from '#lib/testing';
import { findRunningPlatform } from './running-platform.js';

const isRoot = process.geteuid?.() === 0;

describe('findRunningPlatform', () => {
  const root = temporaryFolder();
  const OTHER = 12_345;

  function made(name: string): string {
    const folder = join(root, name);
    mkdirSync(folder);
    const objectStore = { accessKeyId: 'id', secretAccessKey: 'key' };
    const credentials = { restUrl: 'u', apiKey: 'k', tenantId: 't', kubeconfig: 'c', objectStore };
    writeFileSync(join(folder, 'credentials.json'), JSON.stringify(credentials));
    writeFileSync(join(folder, 'lock'), JSON.stringify(ownIdentity()));
    return folder;
  }

  it('finds the process that holds the lock', () => {
    expect(findRunningPlatform(made('own'))?.supervisorPid).toBe(process.pid);
    expect(findRunningPlatform(join(root, 'missing'))).toBeUndefined();
  });

  (isRoot ? it : it.skip).each(['lock', 'credentials.json'])(
    'takes no folder in which %s is of another user, as agents leave them in the folder of all users',
    (name) => {
      const folder = made(`with-other-${name}`);
      chownSync(join(folder, name), OTHER, OTHER);
      expect(() => findRunningPlatform(folder)).toThrow(
        `${join(folder, name)} belongs to the user ${OTHER}, and this is the user 0: act as that user, or name another data folder with --data`,
      );
    },
  );
});
