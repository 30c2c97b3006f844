import { describe, expect, it } from '@jest/globals';
import type { Job } from '#lib/resources';
import { decideSeal, FAILED_KEPT_MS, HELD_MS, type SealDecision, type SealWorld } from './decide-seal.js';

const NOW = new Date('2026-11-20T12:00:00Z');

function jobWith(type?: 'Complete' | 'Failed', endedMsAgo = 0): Job {
  const lastTransitionTime = new Date(NOW.getTime() - endedMsAgo).toISOString();
  const conditions =
    type === undefined ? [] : [{ type, status: 'True' as const, lastTransitionTime, message: 'why' }];
  return { metadata: { name: 'lake-seal' }, spec: {}, status: { conditions } } as unknown as Job;
}

const DELETED = {
  ...jobWith('Complete'),
  metadata: { name: 'lake-seal', deletionTimestamp: NOW.toISOString() },
};

describe('decideSeal', () => {
  it.each<[string, Partial<SealWorld>, SealDecision]>([
    ['waits while no day is due', {}, { kind: 'wait' }],
    ['makes a worker when a day is due', { due: 1 }, { kind: 'make' }],
    ['makes a worker when files of deleted projects are left', { hasGarbage: true }, { kind: 'make' }],
    ['lets exports that wait go first', { due: 1, heldMs: 0 }, { kind: 'wait' }],
    ['is held back by them for an hour at most', { due: 1, heldMs: HELD_MS }, { kind: 'make' }],
    ['makes no second worker', { due: 1, job: jobWith() }, { kind: 'wait' }],
    [
      'removes a worker that is done',
      { due: 1, job: jobWith('Complete') },
      { kind: 'remove', outcome: 'completed' },
    ],
    ['waits for the end of a deletion', { due: 1, job: DELETED }, { kind: 'wait' }],
    [
      'keeps a failed worker for its log',
      { due: 1, job: jobWith('Failed', 1_000) },
      { kind: 'keep-failed', removeInMs: FAILED_KEPT_MS - 1_000, message: 'why' },
    ],
    [
      'removes a failed worker after ten minutes',
      { due: 1, job: jobWith('Failed', FAILED_KEPT_MS) },
      { kind: 'remove', outcome: 'failed' },
    ],
  ])('%s', (_name, world, expected) => {
    expect(
      decideSeal({ job: undefined, due: 0, hasGarbage: false, heldMs: undefined, now: NOW, ...world }),
    ).toEqual(expected);
  });
});
