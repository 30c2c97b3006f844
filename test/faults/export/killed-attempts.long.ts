import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { atProgress, atStore, type KillPoint } from './kill-point.js';
import { KilledAttempts } from './killed-attempts.js';

const FILES = 3;

/** A sample; `test/long/killed-exports.long.ts` has every request and every write of an export of 50 files. */
describe('an export whose attempts are killed', () => {
  const postgres = testPostgres();
  let killed: KilledAttempts;

  beforeAll(async () => {
    killed = await KilledAttempts.start((await postgres.freshDatabase()).uri, FILES);
  });
  afterAll(() => killed.stop());

  it('has four requests and four writes a file, and few more', async () => {
    const { calls, writes } = await killed.undisturbed();
    const ofFiles = (steps: readonly string[]) =>
      [1, 2, 3].flatMap((file) => steps.map((step) => `${step} ${file}`));
    expect(calls.map(({ step, file }) => `${step} ${file}`)).toEqual([
      ...ofFiles(['begin upload', 'send part', 'complete upload', 'look at object']),
      'write manifest 0',
    ]);
    expect(writes.map(({ step, file }) => `${step} ${file}`)).toEqual([
      'claim 0',
      ...ofFiles(['name part', 'name upload', 'name rows', 'add file']),
      'finish 0',
    ]);
  });

  it.each<[string, readonly KillPoint[]]>([
    ['a started upload', [atStore('begin upload', 2, true)]],
    ['a part on its way', [atStore('send part', 2, false)]],
    ['a completion on its way', [atStore('complete upload', 2, false)]],
    ['a completion', [atStore('complete upload', 2, true)]],
    ['a manifest', [atStore('write manifest', 0, true)]],
    ['the claim', [atProgress('claim', 0, true)]],
    ['the second file’s end on its way', [atProgress('add file', 2, false)]],
    ['the second file’s end', [atProgress('add file', 2, true)]],
    [
      'a started upload, and then the search for it',
      [atStore('begin upload', 2, true), atStore('list uploads', 2, false), atStore('abort upload', 2, true)],
    ],
  ])('keeps every row once after a kill at %s', (_name, points) => killed.killAt(points));
});
