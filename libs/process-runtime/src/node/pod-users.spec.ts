import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#lib/resources';
import { temporaryFolder } from '#lib/testing';
import { PodUsers } from './pod-users.js';

const RANGE = { first: 60_800, last: 60_802 };

function pod(namespace: string, account?: string): Pod {
  const spec = {
    containers: [],
    automountServiceAccountToken: account !== undefined,
    ...(account === undefined ? {} : { serviceAccountName: account }),
  };
  return { metadata: { name: 'p', namespace }, spec };
}

describe('PodUsers', () => {
  const folder = temporaryFolder();

  it('gives a namespace one user, and a service account whose token is held another', () => {
    const users = new PodUsers(folder, join(folder, 'pods'), RANGE);
    expect(users.of(pod('a'))).toEqual({ uid: 60_800, gid: 60_800, isOwn: true });
    expect(users.of(pod('a', 'listener'))).toMatchObject({ uid: 60_801 });
    expect(users.of(pod('b'))).toMatchObject({ uid: 60_802 });
    expect(users.of(pod('a'))).toMatchObject({ uid: 60_800 });
    expect(statSync(join(folder, 'users.json')).mode & 0o777).toBe(0o600);
  });

  it('keeps them over restarts, and names the setting when none is left', () => {
    const users = new PodUsers(folder, join(folder, 'pods'), RANGE);
    expect(users.of(pod('b'))).toMatchObject({ uid: 60_802 });
    expect(() => users.of(pod('c'))).toThrow(/no user is left for pods of c: .*AGENTPLANE_POD_USERS/);
  });

  it('refuses a damaged file: files of one workspace must not become those of another', () => {
    writeFileSync(join(folder, 'users.json'), '{"users": {');
    expect(() => new PodUsers(folder, join(folder, 'pods'), RANGE)).toThrow(
      /users\.json is not JSON: restore it/,
    );
  });
});
