import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { COMPONENT, LABEL, type Pod } from '#lib/resources';
import { temporaryFolder } from '#lib/testing';
import { foreignRanges, ReservedUsers, type UserRange } from '../user/pod-user.js';
import { PodUsers } from './choose-users.js';

const RANGE = { first: 60_800, last: 60_802 };

function pod(namespace: string, account?: string, labels: Readonly<Record<string, string>> = {}): Pod {
  const spec = {
    containers: [],
    automountServiceAccountToken: account !== undefined,
    ...(account === undefined ? {} : { serviceAccountName: account }),
  };
  return { metadata: { name: 'p', namespace, labels }, spec };
}

/** Uid of the namespace of a name, until another one has the name. */
const uidOf = (namespace: string) => `uid-of-${namespace}`;

/** The users of an installation that is alone on its machine. */
function usersIn(folder: string, ranges: readonly UserRange[]): PodUsers {
  return new PodUsers(
    folder,
    join(folder, 'pods'),
    ranges,
    new ReservedUsers(folder, join(folder, 'machine')),
  );
}

describe('PodUsers', () => {
  const folder = temporaryFolder();
  const [second, third, own] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  const [fourth, fifth, strange] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  const [sixth, machine, installations] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  const newFolder = (name: string): string => {
    const folder = join(installations, name);
    mkdirSync(folder);
    return folder;
  };

  it('gives a namespace one user, and a service account whose token is held another', () => {
    const users = usersIn(folder, [RANGE]);
    expect(users.of(pod('a'), uidOf('a'))).toEqual({ uid: 60_800, gid: 60_800, isOwn: true });
    expect(users.of(pod('a', 'listener'), uidOf('a'))).toMatchObject({ uid: 60_801 });
    expect(users.of(pod('b'), uidOf('b'))).toMatchObject({ uid: 60_802 });
    expect(users.of(pod('a'), uidOf('a'))).toMatchObject({ uid: 60_800 });
    expect(statSync(join(folder, 'users.json')).mode & 0o777).toBe(0o600);
  });

  it('gives a deployment, its Postgres server and its builds a user each', () => {
    const users = usersIn(sixth, [{ first: 60_800, last: 60_810 }]);
    const numberOf = (labels: Readonly<Record<string, string>>, account?: string) =>
      users.of(pod('a', account, labels), uidOf('a')).uid;
    const one = { [LABEL.deployment]: 'one' };
    const others = [
      numberOf({}),
      numberOf({ [LABEL.deployment]: 'two' }),
      numberOf({ [LABEL.databaseOf]: 'one', [LABEL.component]: COMPONENT.agentDatabase }),
      numberOf({ ...one, [LABEL.component]: COMPONENT.builder }),
      numberOf(one, 'account'),
      numberOf({}, 'account'),
    ];
    expect(new Set([numberOf(one), ...others]).size).toBe(7);
    expect(numberOf({ ...one, [LABEL.component]: COMPONENT.agentQueue })).toBe(numberOf(one));
  });

  it('gives no number of another installation of the machine, until that one is removed', () => {
    const [here, there] = [newFolder('here'), newFolder('there')];
    const open = (folder: string) =>
      new PodUsers(folder, join(folder, 'pods'), [RANGE], new ReservedUsers(folder, machine));
    expect(open(here).of(pod('a'), 'uid').uid).toBe(60_800);
    expect(open(there).of(pod('a'), 'uid').uid).toBe(60_801);
    expect(open(here).of(pod('b'), 'uid').uid).toBe(60_802);
    expect(() => open(there).of(pod('b'), 'uid')).toThrow(/all of 60800-60802 are given or belong to others/);
    rmSync(here, { recursive: true });
    expect(open(there).of(pod('b'), 'uid').uid).toBe(60_800);
    expect(open(there).of(pod('a'), 'uid').uid).toBe(60_801);
  });

  it('counts a number as not given that another installation has reserved', () => {
    const [here, there] = [newFolder('first'), newFolder('second')];
    writeFileSync(join(there, 'users.json'), JSON.stringify({ users: { 'a@uid': 60_800 } }));
    const machineToo = newFolder('machine');
    const open = (folder: string) =>
      new PodUsers(folder, join(folder, 'pods'), [RANGE], new ReservedUsers(folder, machineToo));
    expect(open(here).of(pod('a'), 'uid').uid).toBe(60_800);
    expect(open(there).of(pod('a'), 'uid').uid).toBe(60_801);
  });

  it('keeps them over restarts, and names the setting when none is left', () => {
    const users = usersIn(folder, [RANGE]);
    expect(users.of(pod('b'), uidOf('b'))).toMatchObject({ uid: 60_802 });
    expect(() => users.of(pod('c'), uidOf('c'))).toThrow(
      /no user is left for pods of c: .*AGENTPLANE_POD_USERS/,
    );
  });

  it('gives a namespace that was made again under its name other numbers, and its former ones to no one', () => {
    const users = usersIn(fourth, [{ first: 60_800, last: 60_810 }]);
    const numbers = (uid: string) => [users.of(pod('a'), uid).uid, users.of(pod('a', 'default'), uid).uid];
    const former = numbers('first');
    const later = [...numbers('second'), ...numbers('third')];
    expect(new Set([...former, ...later]).size).toBe(6);
    expect(numbers('second')).toEqual(later.slice(0, 2));
  });

  it('leaves the numbers of an earlier version to the namespace that has the name now', () => {
    const given = { users: { a: 60_800, 'a/default': 60_801, ab: 60_802 } };
    writeFileSync(join(fifth, 'users.json'), JSON.stringify(given));
    const users = usersIn(fifth, [{ first: 60_800, last: 60_810 }]);
    expect([users.of(pod('a'), 'now').uid, users.of(pod('a', 'default'), 'now').uid]).toEqual([
      60_800, 60_801,
    ]);
    expect([users.of(pod('a'), 'later').uid, users.of(pod('ab'), 'other').uid]).toEqual([60_803, 60_802]);
  });

  it('goes on in the next range when one is used up', () => {
    const more = [RANGE, { first: 1_900_000_000, last: 1_900_000_001 }];
    const users = usersIn(folder, more);
    expect(users.of(pod('b'), uidOf('b'))).toMatchObject({ uid: 60_802 });
    expect([users.of(pod('c'), uidOf('c')).uid, users.of(pod('d'), uidOf('d')).uid]).toEqual([
      1_900_000_000, 1_900_000_001,
    ]);
    expect(() => users.of(pod('e'), uidOf('e'))).toThrow(
      /all of 60800-60802,1900000000-1900000001 are given/,
    );
  });

  it('passes over numbers that the machine has given', () => {
    const [passwd, subuid] = [join(third, 'passwd'), join(third, 'subuid')];
    writeFileSync(passwd, 'root:x:0:0:root:/root:/bin/sh\nann:x:60801:60801::/home/ann:/bin/sh\n');
    writeFileSync(subuid, 'ann:100000:65536\n');
    expect(foreignRanges(passwd, subuid)).toEqual([
      { first: 0, last: 0 },
      { first: 60_801, last: 60_801 },
      { first: 100_000, last: 165_535 },
    ]);
    const users = usersIn(own, [{ first: 0, last: 1_000_000 }]);
    const { uid } = users.of(pod('a'), uidOf('a'));
    expect(foreignRanges().some(({ first, last }) => first <= (uid ?? 0) && (uid ?? 0) <= last)).toBe(false);
  });

  it('uses no number of a file that it would not have given', () => {
    const given = { root: 0, person: 1_000, half: 60_800.5, text: '60801', kept: 60_802 };
    const users = Object.fromEntries(Object.entries(given).map(([name, uid]) => [`${name}@x`, uid]));
    writeFileSync(join(strange, 'users.json'), JSON.stringify({ users }));
    const read = usersIn(strange, [{ first: 60_800, last: 60_810 }]);
    const uids = Object.keys(given).map((name) => read.of(pod(name), 'x').uid);
    expect(uids).toEqual([60_800, 60_801, 60_803, 60_804, 60_802]);
  });

  it('gives the service accounts of one namespace no more than their share', () => {
    const few = { first: 60_810, last: 60_850 };
    const users = usersIn(second, [few]);
    const given = Array.from(
      { length: 16 },
      (_, at) => users.of(pod('greedy', `account-${at}`), uidOf('greedy')).uid,
    );
    expect(new Set(given).size).toBe(16);
    expect(() => users.of(pod('greedy', 'one-more'), uidOf('greedy'))).toThrow(
      /no user is left for pods of greedy\/one-more: 16 deployments and service accounts of greedy/,
    );
    expect(users.of(pod('greedy', 'account-3'), uidOf('greedy')).uid).toBe(given[3]);
    expect(users.of(pod('other', 'one'), uidOf('other')).uid).toBeGreaterThan(60_810);
  });

  it('gives a user to a namespace that is named like a part of every object', () => {
    const users = usersIn(third, [RANGE]);
    expect(users.of(pod('constructor'), uidOf('constructor'))).toMatchObject({ uid: 60_800 });
  });

  it('refuses a damaged file: files of one workspace must not become those of another', () => {
    writeFileSync(join(folder, 'users.json'), '{"users": {');
    expect(() => usersIn(folder, [RANGE])).toThrow(/users\.json is not JSON: restore it/);
  });
});
