import { describe, expect, it } from '@jest/globals';
import type { BulkExport, Condition } from '#lib/resources';
import { findContinuationProblem } from './continuation.js';

const ID = '5b1c0c5f-0d3c-4c8e-9d11-52d1c6f7a001';
const PLACE = { bucketName: 'b', prefix: 'x', includeBucketInPrefix: true };

function failed(reason: string): Condition {
  return { type: 'Failed', status: 'True', reason, message: 'm', lastTransitionTime: '2026-05-01T00:00:00Z' };
}

function anExport(name: string, spec: object = {}, status: object = {}): BulkExport {
  return {
    metadata: { name, uid: name, creationTimestamp: `2026-05-01T00:00:0${name.length}Z` },
    spec: {
      destinationRef: { name: 'local' },
      tracingProject: { name: 'p' },
      last: '24h',
      formatVersion: 'v1',
      compression: 'zstd',
      cancel: false,
      suspend: false,
      ...spec,
    },
    status: { startTime: '2026-04-30T00:00:00Z', endTime: '2026-05-01T00:00:00Z', ...status },
  } as unknown as BulkExport;
}

function aRun(config: typeof PLACE & { readonly region?: string }, exportId: object = { exportId: ID }) {
  return { spec: { ...exportId, destination: { config } } };
}

const FORMER = anExport('a', {}, { conditions: [failed('RunFailed')] });
const CONTINUES = { continues: { id: ID } };
const MINE = anExport('bb', CONTINUES);

function why(change: Partial<Parameters<typeof findContinuationProblem>[0]>): string {
  const problem = findContinuationProblem({
    id: ID,
    predecessor: FORMER,
    runs: [aRun(PLACE)],
    destination: PLACE,
    others: [],
    continuation: MINE,
    ...change,
  });
  if (!problem) return 'none';
  const start = `continuing export ${ID} failed: `;
  expect(problem.message.startsWith(start)).toBe(true);
  return `${problem.reason}: ${problem.message.slice(start.length)}`;
}

describe('findContinuationProblem', () => {
  const window = { last: undefined, startTime: '2026-04-30T00:00:00.000Z', endTime: '2026-05-01T00:00:00Z' };
  it.each<[string, Parameters<typeof why>[0]]>([
    ['one that failed', {}],
    ['one that ran out of time', { predecessor: anExport('a', {}, { conditions: [failed('TimedOut')] }) }],
    ['the resolved window of `last`', { continuation: anExport('bb', { ...CONTINUES, ...window }) }],
    ['a destination whose absent fields became defaults', { runs: [aRun({ ...PLACE, region: '' })] }],
    ['a destination whose storage class was changed', { destination: { ...PLACE, storageClass: 'COLD' } }],
    ['one whose continuation was cancelled', { others: [anExport('c', { cancel: true })] }],
    [
      'one whose continuation was refused',
      { others: [anExport('c', {}, { conditions: [failed('NotContinuable')] })] },
    ],
    [
      'one with another webhook',
      { continuation: anExport('bb', { ...CONTINUES, webhook: { url: 'https://receiver.example/' } }) },
    ],
    ['one that a younger export continues too', { others: [anExport('ccc')] }],
  ])('continues %s', (_name, change) => expect(why(change)).toBe('none'));

  it.each<[string, Parameters<typeof why>[0], RegExp]>([
    [
      'an unknown one',
      { predecessor: undefined },
      /^PredecessorMissing: the workspace has no export of this id/,
    ],
    ['one that runs', { predecessor: anExport('a') }, /^NotContinuable: it is CREATED; only/],
    ['one without runs', { runs: [] }, /^NotContinuable: it failed before its first run/],
    [
      'one that an older export continues',
      { others: [anExport('c')] },
      /^AlreadyContinued: export c \(CREATED\)/,
    ],
    ['one of which little is kept', { runs: [aRun(PLACE, {})] }, /it was archived long ago/],
    [
      'one that a failed export continued',
      { others: [anExport('ccc', {}, { runs: { total: 1 }, conditions: [failed('RunFailed')] })] },
      /^AlreadyContinued: export ccc \(FAILED\) continues it already; continue that one/,
    ],
    [
      'one that another continues, before there is a continuation',
      { continuation: undefined, others: [anExport('ccc')] },
      /^AlreadyContinued/,
    ],
    ['one without its destination', { destination: undefined }, /BulkExportDestination local was deleted/],
    [
      'one to another bucket',
      { destination: { ...PLACE, bucketName: 'c' } },
      /: bucketName of .* was changed/,
    ],
    [
      'another window',
      { continuation: anExport('bb', { ...CONTINUES, last: '25h' }) },
      /: spec.last is another/,
    ],
    [
      'another end',
      { continuation: anExport('bb', { ...CONTINUES, ...window, endTime: '2026-05-02T00:00:00Z' }) },
      /: spec.endTime is another/,
    ],
    [
      'other columns',
      { continuation: anExport('bb', { ...CONTINUES, exportFields: ['id'] }) },
      /: spec.exportFields/,
    ],
  ])('refuses %s', (_name, change, expected) => expect(why(change)).toMatch(expected));
});
