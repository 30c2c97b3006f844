import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { ChangeHistory } from './change-history.js';
import type { StoredChange } from './stored-object.js';

function change(revision: number, letters: number): StoredChange {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  const after = { object, json: 'x'.repeat(letters), revision };
  return { type: 'MODIFIED', resource: 'configmaps', namespace: 'a', name: 'a', after, before: undefined };
}

const revisions = (history: ChangeHistory, from: number): readonly number[] | undefined =>
  history.since(from)?.map(({ after }) => after.revision);

describe('the history of changes', () => {
  const clock = new FakeClock();

  it('keeps its limit of changes, and a quarter more in between', () => {
    const history = new ChangeHistory({ clock, maxChanges: 4, maxLetters: 1000 });
    for (let revision = 1; revision <= 4; revision++) history.add(change(revision, 1));
    expect(revisions(history, 0)).toEqual([1, 2, 3, 4]);
    history.add(change(5, 1));
    expect(history.compacted).toBe(1);
    expect(revisions(history, 0)).toBeUndefined();
    expect(revisions(history, 3)).toEqual([4, 5]);
  });

  it('keeps fewer changes of large objects', () => {
    const history = new ChangeHistory({ clock, maxChanges: 100, maxLetters: 1000 });
    for (let revision = 1; revision <= 50; revision++) history.add(change(revision, 300));
    const kept = revisions(history, history.compacted) ?? [];
    expect(kept.length).toBeLessThan(5);
    expect(kept.at(-1)).toBe(50);
    expect(revisions(history, history.compacted - 1)).toBeUndefined();
  });

  it('starts with at most its limit after a restart', () => {
    const history = new ChangeHistory({ clock, maxChanges: 100, maxLetters: 1000 });
    history.restore(
      Array.from({ length: 50 }, (_, index) => change(index + 10, 300)),
      9,
    );
    expect(history.compacted).toBeGreaterThan(50);
    expect(revisions(history, history.compacted)?.at(-1)).toBe(59);
  });

  it('forgets what is older than five minutes, but never the newest', async () => {
    const history = new ChangeHistory({ clock, maxChanges: 1000 });
    for (let revision = 1; revision <= 300; revision++) history.add(change(revision, 1));
    await clock.advance(4 * 60_000);
    for (let revision = 301; revision <= 450; revision++) history.add(change(revision, 1));
    history.forgetOld();
    expect(history.compacted).toBe(0);
    await clock.advance(2 * 60_000);
    history.forgetOld();
    expect([history.compacted, history.length]).toEqual([300, 150]);
    await clock.advance(60 * 60_000);
    history.forgetOld();
    expect([history.compacted, history.length]).toEqual([350, 100]);
    expect(revisions(history, 350)?.at(-1)).toBe(450);
  });
});
