import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { keptPlaces } from './prepare-mounts.js';

describe('keptPlaces', () => {
  const root = temporaryFolder();
  const [scratch, other] = [join(root, 'scratch'), join(root, 'other')];
  mkdirSync(join(scratch, 'data', 'deep'), { recursive: true });
  mkdirSync(join(scratch, 'more'));
  const bindAt = (target: string, isReadOnly = false) => ({
    source: '/volume',
    target,
    isReadOnly,
    isSourceMade: false,
  });
  const needed = ['data/deep/program', 'data', 'more', 'missing/file'].map((path) => join(scratch, path));

  it.each<[string, ReturnType<typeof bindAt>[], string[]]>([
    ['keeps each entry of a covered folder once', [bindAt(scratch)], ['data', 'more']],
    ['leaves an entry that is a volume itself', [bindAt(scratch), bindAt(join(scratch, 'more'))], ['data']],
    ['keeps nothing where a volume has no room', [bindAt(scratch, true)], []],
    ['keeps nothing of other folders', [bindAt(other), bindAt(`${scratch}-2`)], []],
  ])('%s', (_what, binds, kept) => {
    expect(keptPlaces(binds, [...needed, scratch])).toEqual(kept.map((name) => join(scratch, name)));
  });
});
