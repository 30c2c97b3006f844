import { describe, expect, it } from '@jest/globals';
import { archivedOutputs, archivedRevision } from './revision-archiver.js';
import { revision } from './testdata/sample-world.js';

describe('the record of a revision', () => {
  it('stays below 64 KiB whatever a listener wrote as its status', () => {
    const made = revision(1, 'Failed/True/GraphLoadFailed');
    const [condition] = made.status?.conditions ?? [];
    const conditions = Array.from({ length: 32 }, (_, n) => ({
      ...condition,
      type: `Kind${n}`,
      message: 'x'.repeat(30_000),
    }));
    const { object } = archivedRevision({ ...made, status: { conditions } } as typeof made);
    expect(object.length).toBeLessThan(64 * 1024);
    expect(object).toContain('Kind31');
  });

  it('keeps less of outputs that JSON makes large', () => {
    const data = Object.fromEntries(
      Array.from({ length: 8 }, (_, n) => [`${n}.log`, '\u0001'.repeat(65_536)]),
    );
    const text = archivedOutputs([{ metadata: { name: 'a' }, data }]) ?? '';
    expect(text.length).toBeLessThan(1024 * 1024);
    expect(text).toContain('\\u0001');
  });
});
