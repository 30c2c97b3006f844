import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { lookAs } from './look-as.js';

const user = { uid: 61_985, gid: 61_985, isOwn: true } as const;
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

(isRoot ? describe : describe.skip)('lookAs', () => {
  const folder = temporaryFolder();
  const at = (path: string): string => join(folder, path);
  chmodSync(folder, 0o755);
  for (const name of ['open', 'closed', 'closed/deep', 'group', 'own']) mkdirSync(at(name));
  for (const name of ['open', 'closed/deep']) writeFileSync(at(`${name}/file`), '');
  for (const name of ['open', 'closed/deep']) chmodSync(at(name), 0o755);
  for (const [name, mode] of [
    ['closed', 0o700],
    ['group', 0o710],
    ['own', 0o700],
  ] as const)
    chmodSync(at(name), mode);
  chownSync(at('group'), 0, user.gid);
  chownSync(at('own'), user.uid, user.gid);
  symlinkSync(at('closed/deep'), at('open/in'));
  symlinkSync('file', at('open/to-file'));
  symlinkSync(`${folder}/open/none/../../closed/deep`, at('open/back'));
  symlinkSync('round', at('open/round'));

  it.each([
    ['open/file', 'found', 'open/file'],
    ['open/../open/./to-file', 'found', 'open/file'],
    ['open/none/deeper', 'missing', 'open/none/deeper'],
    ['open/file/below', 'missing', 'open/file/below'],
    [`open/${'n'.repeat(300)}`, 'missing', `open/${'n'.repeat(300)}`],
    ['group/none', 'missing', 'group/none'],
    ['own/none', 'missing', 'own/none'],
    ['closed', 'found', 'closed'],
    ['closed/deep/file', 'closed', 'closed'],
    ['closed/none', 'closed', 'closed'],
    ['open/in/file', 'closed', 'closed'],
    ['open/back', 'closed', 'open/none'],
    ['open/round', 'closed', 'open/round'],
  ])('sees %s as %s', (path, kind, seen) => {
    expect(lookAs(`${folder}/${path}`, user)).toEqual({ kind, path: at(seen) });
  });

  it('gives up what links lead through thousands of folders', () => {
    for (let one = 0; one < 30; one++)
      symlinkSync(
        `${'open/../'.repeat(400)}${one === 29 ? 'open' : `winding-${one + 1}`}`,
        at(`winding-${one}`),
      );
    expect(lookAs(at('winding-29/file'), user).kind).toBe('found');
    expect(lookAs(at('winding-0/file'), user).kind).toBe('closed');
    const budget = { left: 2_000 };
    const looks = [1, 2, 3].map(() => lookAs(at('winding-29/file'), user, budget).kind);
    expect(looks).toEqual(['found', 'found', 'closed']);
  });

  it('follows no link of a process', () => {
    expect(lookAs(`/proc/${process.pid}/cwd/x`, user)).toEqual({ kind: 'closed', path: '/proc' });
  });
});
