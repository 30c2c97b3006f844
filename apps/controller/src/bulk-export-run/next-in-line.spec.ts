import type { BulkExport, BulkExportRun } from '#lib/resources';
import { hasEnded, nextInLine } from './run-places.js';

const ENDED = { type: 'Completed', status: 'True', reason: 'Completed', message: '', lastTransitionTime: '' };

function aRun(day: string, attempt: number, isFinished = false): BulkExportRun {
  return {
    metadata: { namespace: 'ws', name: `x-${day}` },
    spec: { exportName: 'x', startTime: `2026-05-${day}T00:00:00Z` },
    status: { attempt, conditions: isFinished ? [ENDED] : [] },
  } as unknown as BulkExportRun;
}

describe('nextInLine', () => {
  const isTaken = ({ metadata }: BulkExportRun): boolean => metadata.annotations?.['taken'] !== undefined;
  const bulkExport = { metadata: { namespace: 'ws', name: 'x' } } as BulkExport;
  const next = (...runs: BulkExportRun[]): string[] =>
    nextInLine(runs[0] ?? aRun('01', 0), { find: () => bulkExport }, { ownedBy: () => runs }, isTaken).map(
      ({ name }) => name,
    );

  it('passes over what a worker takes anyway', () => {
    const taken = { ...aRun('02', 0), metadata: { ...aRun('02', 0).metadata, annotations: { taken: '' } } };
    expect(next(aRun('01', 1, true), taken, aRun('03', 0))).toEqual(['x-03']);
  });

  it.each<[string, BulkExportRun[], string[]]>([
    [
      'the first day that waits',
      [aRun('01', 1, true), aRun('04', 0), aRun('03', 0), aRun('02', 1)],
      ['x-03'],
    ],
    ['no run when all have begun', [aRun('01', 1, true), aRun('02', 1)], []],
    ['no run that was cancelled while waiting', [aRun('01', 1, true), aRun('02', 0, true)], []],
  ])('picks %s', (_, runs, expected) => expect(next(...runs)).toEqual(expected));

  it('picks no run when the export was deleted', () => {
    expect(nextInLine(aRun('01', 1), { find: () => undefined }, { ownedBy: () => [] }, isTaken)).toEqual([]);
  });
});

describe('hasEnded', () => {
  const [running, ended] = [aRun('01', 1), aRun('01', 1, true)];
  it.each([
    ['when it came to its end', { kind: 'changed', before: running, object: ended } as const, true],
    ['when it was deleted', { kind: 'deleted', object: running } as const, true],
    ['not while it runs', { kind: 'changed', before: running, object: running } as const, false],
    ['not again afterwards', { kind: 'changed', before: ended, object: ended } as const, false],
    ['not at the first sight', { kind: 'added', object: ended } as const, false],
  ])('%s', (_, change, expected) => expect(hasEnded(change)).toBe(expected));
});
