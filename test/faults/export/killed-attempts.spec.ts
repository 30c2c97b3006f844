import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { KilledAttempts, type KillPoint } from './killed-attempts.js';

const FILES = 3;
const store = (number: number, isDone: boolean): KillPoint => ({ side: 'store', number, isDone });
const progress = (number: number, isDone: boolean): KillPoint => ({ side: 'progress', number, isDone });

/** A sample; `test/long/killed-exports.long.ts` has every call and every write of an export of 50 files. */
describe('an export whose attempts are killed', () => {
  const postgres = testPostgres();
  let killed: KilledAttempts;

  beforeAll(async () => {
    killed = await KilledAttempts.start((await postgres.freshDatabase()).uri, FILES);
  }, 60_000);
  afterAll(() => killed.stop());

  it('has four requests a file, and one more', async () => {
    const { calls } = await killed.undisturbed();
    const ofFile = ['begin upload', 'send part', 'complete upload', 'look at object'];
    expect(calls).toEqual([...ofFile, ...ofFile, ...ofFile, 'write manifest']);
  });

  it.each<[string, readonly KillPoint[], readonly string[]]>([
    ['a started upload', [store(5, true)], ['begin upload']],
    ['a part on its way', [store(6, false)], ['send part']],
    ['a completion on its way', [store(7, false)], ['complete upload']],
    ['a completion', [store(7, true)], ['complete upload']],
    ['a manifest', [store(13, true)], ['write manifest']],
    // claim, then four writes a file, and heartbeats
    ['the claim', [progress(1, true)], ['progress']],
    ['the second file’s end on its way', [progress(9, false)], ['progress']],
    ['the second file’s end', [progress(9, true)], ['progress']],
    [
      'a started upload, and then the search for it',
      [store(5, true), store(1, false), store(2, true)],
      ['begin upload', 'list uploads', 'abort upload'],
    ],
  ])(
    'keeps every row once after a kill at %s',
    async (_name, points, calls) => expect(await killed.killAt(points)).toEqual(calls),
    60_000,
  );
});
