import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { chooseUsers, type UserOptions } from './choose-users.js';

const RANGE = { first: 60_800, last: 60_809 };
const POD: Pod = { metadata: { name: 'p', namespace: 'a' }, spec: { containers: [] } };
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write('SKIPPED: users of their own for pods need root; run this as root on Linux\n');

(isRoot ? describe : describe.skip)('chooseUsers of root', () => {
  const root = temporaryFolder();
  chmodSync(root, 0o711);
  const log = createLogger('test', 'silent');

  function uidWith(options: UserOptions, mode = 0o711): number | undefined {
    const data = mkdtempSync(join(root, 'data-'));
    chmodSync(data, mode);
    const folder = join(data, 'node');
    const podsFolder = join(folder, 'pods');
    mkdirSync(podsFolder, { recursive: true, mode: 0o700 });
    const reservedIn = join(data, 'reserved');
    const users = chooseUsers({ reservedIn, ...options }, { folder, podsFolder, log });
    const { uid } = users.of(POD, undefined);
    expect(users.problem === undefined).toBe(uid !== 0);
    expect(readdirSync(folder).filter((name) => name.includes('probe'))).toEqual([]);
    expect(existsSync(join(folder, 'users.json'))).toBe(uid !== 0);
    return uid;
  }

  it('gives pods users of the range', () => {
    expect(uidWith({ ranges: [RANGE], programs: [] })).toBe(RANGE.first);
    const unknown = { first: 60_800, last: 2 ** 31 };
    expect(uidWith({ ranges: [unknown, { first: 60_820, last: 60_829 }], programs: [] })).toBe(60_820);
  });

  it.each<[string, UserOptions, number]>([
    ['is configured without users', { ranges: [], programs: [] }, 0o711],
    ['has its data folder where others cannot pass', { ranges: [RANGE], programs: [] }, 0o700],
    ['has a program that others cannot read', { ranges: [RANGE], programs: ['/etc/shadow'] }, 0o711],
    ['cannot become such a user', { ranges: [{ first: 60_800, last: 2 ** 31 }], programs: [] }, 0o711],
  ])('lets pods run as root, as ever, when it %s', (_what, options, mode) => {
    expect(uidWith(options, mode)).toBe(0);
  });
});
