import { describe, expect, it } from '@jest/globals';
import type { BulkExport, Job } from '#lib/resources';
import { endsWorker, movesQueue, nextExport } from './export-controllers.js';

function anExport(name: string, state: 'queued' | 'begun' | 'ended' | 'waits', second = 0): BulkExport {
  const condition = (type: string, reason: string) => ({ type, status: 'True', reason, message: '' });
  const conditions = {
    queued: [condition('Accepted', 'Queued')],
    begun: [condition('Accepted', 'Accepted')],
    ended: [condition('Completed', 'Completed')],
    waits: [condition('Accepted', 'WaitingForWindow')],
  }[state];
  const total = state === 'begun' || state === 'ended' ? 1 : 0;
  return {
    metadata: { namespace: 'ws', name, creationTimestamp: `2026-05-01T00:00:0${second}Z` },
    spec: {},
    status: { conditions, runs: { total } },
  } as unknown as BulkExport;
}

describe('the queue of a workspace', () => {
  const next = (...exports: BulkExport[]) =>
    nextExport(anExport('x', 'ended'), { list: () => exports }).map(({ name }) => name);

  it.each<[string, BulkExport[], string[]]>([
    ['goes on with the oldest', [anExport('b', 'queued', 2), anExport('c', 'queued', 1)], ['c']],
    ['goes by name within a second', [anExport('b', 'queued'), anExport('a', 'queued')], ['a']],
    [
      'has none that began, ended or waits for its window',
      [anExport('a', 'begun'), anExport('b', 'ended'), anExport('c', 'waits')],
      [],
    ],
  ])('%s', (_name, exports, expected) => expect(next(...exports)).toEqual(expected));

  it.each([
    ['begun', 'ended', true],
    ['queued', 'begun', true],
    ['ended', 'ended', false],
    ['waits', 'queued', false],
    ['queued', 'waits', true],
    ['queued', 'queued', false],
  ] as const)('goes on when one goes from %s to %s: %s', (before, after, expected) => {
    const change = { kind: 'changed', before: anExport('a', before), object: anExport('a', after) } as const;
    expect(movesQueue(change)).toBe(expected);
  });

  it('goes on when one is deleted', () => {
    expect(movesQueue({ kind: 'deleted', object: anExport('a', 'begun') })).toBe(true);
    expect(movesQueue({ kind: 'added', object: anExport('a', 'queued') })).toBe(false);
  });
});

describe('the worker of a run', () => {
  const aJob = (state: 'waits' | 'runs' | 'ended' | 'deleted') =>
    ({
      metadata: { name: 'j', ...(state === 'deleted' ? { deletionTimestamp: '2026-05-01T00:00:00Z' } : {}) },
      status: {
        ready: state === 'waits' ? 0 : 1,
        conditions: state === 'ended' ? [{ type: 'Complete', status: 'True' }] : [],
      },
    }) as unknown as Job;

  it.each([
    ['waits', 'runs', false],
    ['runs', 'ended', true],
    ['runs', 'deleted', true],
    ['ended', 'ended', false],
  ] as const)('concerns it when its Job goes from %s to %s: %s', (before, after, expected) => {
    expect(endsWorker({ kind: 'changed', before: aJob(before), object: aJob(after) })).toBe(expected);
  });

  it('concerns it when its Job is made or removed', () => {
    expect(endsWorker({ kind: 'added', object: aJob('waits') })).toBe(true);
    expect(endsWorker({ kind: 'deleted', object: aJob('runs') })).toBe(true);
  });
});
