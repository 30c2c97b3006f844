import { describe, expect, it } from '@jest/globals';
import { followingRun, specOfFollowing } from '#lib/export-plan';
import type { BulkExport, BulkExportRun } from '#lib/resources';
import { parseInstant } from '#lib/time';
import type { ExportWindow } from '#lib/trace-store';
import { FollowingRuns } from './following-runs.js';

const day = (number: number): string => `2026-05-${String(number).padStart(2, '0')}T00:00:00Z`;

function aRun(number: number, spec: object = {}, attempt = 0): BulkExportRun {
  return {
    metadata: { name: `x-${number}`, uid: `u${number}` },
    spec: {
      exportName: 'x',
      tenantId: 't',
      projectId: 'p',
      startTime: day(number),
      endTime: day(number + 1),
      ...spec,
    },
    status: { attempt },
  } as unknown as BulkExportRun;
}

describe('FollowingRuns', () => {
  let nowMs = 0;
  /** Days with many rows are those of `rows`. */
  function asked(
    runs: readonly BulkExportRun[],
    {
      rows = {},
      total = runs.length,
      most = 30,
      taken = '',
      others = [],
      suspended = '',
      waiting = [],
      totalOfOthers = 2,
    }: Partial<Options> = {},
  ) {
    const counted: string[] = [];
    const following = new FollowingRuns({
      most,
      createdWithinMs: 5_000,
      clock: { monotonicMs: () => nowMs },
      runs: { ownedBy: () => [...runs], list: () => [...runs, ...others] },
      exports: {
        find: ({ name }) =>
          ({
            metadata: { name, uid: name },
            spec: { suspend: name === suspended },
            status: { runs: { total: totalOfOthers } },
          }) as BulkExport,
        list: () => [...waiting],
      },
      workerJobs: { isTaken: ({ metadata }) => metadata.uid === taken },
      traceStore: {
        exportCounts: {
          count: ({ startTime, endTime }: ExportWindow) => {
            const [from, to] = [startTime, endTime].map((time) =>
              [...Array(31).keys()].find((n) => parseInstant(day(n + 1), { zone: 'required' }) === time),
            );
            counted.push(`${(from ?? 0) + 1}-${to}`);
            let sum = 0;
            for (const [at, count] of Object.entries(rows))
              if (Number(at) > (from ?? 0) && Number(at) <= (to ?? 0)) sum += count;
            return Number.isNaN(sum)
              ? Promise.reject(new Error('too long'))
              : Promise.resolve({ rows: sum, isExact: true });
          },
        } as never,
      },
    });
    const bulkExport = { metadata: { name: 'x' }, status: { runs: { total } } } as BulkExport;
    return async () => {
      const chosen = await following.choose(runs[0] ?? aRun(1), bulkExport);
      return {
        chosen: typeof chosen === 'string' ? chosen : chosen.map((run) => run.metadata.name),
        counted,
      };
    };
  }
  const choose = (runs: readonly BulkExportRun[], options?: Partial<Options>) => asked(runs, options)();
  interface Options {
    readonly rows: Readonly<Record<number, number>>;
    readonly total: number;
    readonly most: number;
    readonly taken: string;
    readonly others: readonly BulkExportRun[];
    readonly suspended: string;
    readonly waiting: readonly BulkExport[];
    readonly totalOfOthers: number;
  }
  const days = (count: number) => Array.from({ length: count }, (_, n) => aRun(n + 1));

  it('takes as many as a worker may, in the order of their days, and counts once', async () => {
    const runs = [aRun(1), ...days(20).slice(1).reverse()];
    const { chosen, counted } = await choose(runs, { most: 4 });
    expect(chosen).toEqual(['x-2', 'x-3', 'x-4']);
    expect(counted).toEqual(['1-1', '2-4']);
  });

  it('counts nothing for an export of one run', async () => {
    expect(await choose(days(1))).toEqual({ chosen: [], counted: [] });
    expect(await choose(days(9), { most: 1 })).toEqual({ chosen: [], counted: [] });
  });

  it.each<[string, Readonly<Record<number, number>>, readonly string[]]>([
    ['ends before the day that would make too many', { 1: 3000, 2: 3000, 3: 3000, 4: 3000 }, ['x-2', 'x-3']],
    ['ends before a heavy day', { 2: 1, 3: 20_000 }, ['x-2']],
    ['leaves a heavy day alone', { 1: 10_000 }, []],
    ['leaves each alone where counting fails', { 1: Number.NaN }, []],
  ])('%s', async (_name, rows, expected) =>
    expect((await choose(days(6), { rows })).chosen).toEqual(expected),
  );

  it('waits until the runs of a new export are created, unless its own day is heavy', async () => {
    expect((await choose(days(2), { total: 9 })).chosen).toBe('soon');
    expect((await choose(days(3), { total: 9, most: 3 })).chosen).toEqual(['x-2', 'x-3']);
    expect((await choose(days(2), { total: 9, rows: { 1: 20_000 } })).chosen).toEqual([]);
  });

  it('begins without runs that cannot be created, after five seconds', async () => {
    const incomplete = asked(days(2), { total: 9 });
    expect((await incomplete()).chosen).toBe('soon');
    nowMs += 5_000;
    expect((await incomplete()).chosen).toBe('soon');
    nowMs += 1;
    expect((await incomplete()).chosen).toEqual(['x-2']);
  });

  it('takes no run that has begun, that another worker has, or that has another destination', async () => {
    const runs = [
      aRun(1, { predecessorUid: 'a', lateOfUid: 'b' }),
      aRun(2, {}, 1),
      aRun(3),
      aRun(4, { destination: { config: { bucketName: 'other' } } }),
      aRun(5, { predecessorUid: 'c' }),
    ];
    expect((await choose(runs, { taken: 'u3' })).chosen).toEqual(['x-5']);
  });

  /** A run of another export, which waits for a place unless it is told otherwise. */
  function anOther(name: string, number: number, spec: object = {}, reason = 'AwaitingPlace'): BulkExportRun {
    const run = aRun(number, { exportName: name, ...spec });
    return {
      ...run,
      metadata: { name: `${name}-${number}`, uid: `${name}${number}`, ownerReferences: [{ uid: name }] },
      status: { attempt: 0, conditions: [{ type: 'Running', status: 'False', reason, message: reason }] },
    } as unknown as BulkExportRun;
  }

  it('takes the next run of each other export that waits for a place, after its own', async () => {
    const others = [anOther('b', 2), anOther('c', 4), anOther('b', 1), anOther('d', 1, {}, 'Queued')];
    const { chosen, counted } = await choose(days(2), { others });
    expect(chosen).toEqual(['x-2', 'b-1', 'c-4']);
    expect(counted).toEqual(['1-1', '2-2', '1-1', '4-4']);
  });

  it('counts a window that several exports have once', async () => {
    const others = ['b', 'c', 'd'].map((name) => anOther(name, 3));
    const { chosen, counted } = await choose(days(1), { others, rows: { 3: 4_000 } });
    expect(chosen).toEqual(['b-3', 'c-3']);
    expect(counted).toEqual(['1-1', '3-3']);
  });

  it('takes no more than one variable of a process has room for', async () => {
    const filter = 'ü'.repeat(8_000);
    const others = Array.from({ length: 20 }, (_, n) => anOther(`b${n}`, 1, { filter }));
    expect((await choose(days(1), { others })).chosen).toEqual(['b0-1', 'b1-1', 'b2-1', 'b3-1']);
  });

  it('takes no run of an export that is suspended, or writes elsewhere, and none before its own are made', async () => {
    const elsewhere = { destination: { config: { bucketName: 'other' } } };
    const others = [anOther('b', 1), anOther('c', 1, elsewhere)];
    expect((await choose(days(1), { others, suspended: 'b' })).chosen).toEqual([]);
    expect((await choose(days(2), { others, total: 9 })).chosen).toBe('soon');
    expect((await choose(days(4), { others, rows: { 3: 20_000 } })).chosen).toEqual(['x-2']);
  });

  const queued = {
    metadata: { name: 'y' },
    spec: {},
    status: { conditions: [{ type: 'Accepted', status: 'True', reason: 'Queued' }] },
  } as unknown as BulkExport;
  const unseen = { metadata: { name: 'y' }, spec: {} } as unknown as BulkExport;

  it.each([
    ['waits for the limit of the workspace', queued],
    ['no pass has looked at', unseen],
  ])('waits a second for the runs of another export that %s', async (_which, other) => {
    const held = asked(days(1), { waiting: [other], others: [anOther('b', 1)] });
    expect((await held()).chosen).toBe('later');
    nowMs += 1_000;
    expect((await held()).chosen).toBe('later');
    nowMs += 1;
    expect((await held()).chosen).toEqual(['b-1']);
  });

  it('waits for no other export with a full worker, a heavy day, or a schedule', async () => {
    const waiting = [queued];
    expect((await choose(days(3), { waiting, most: 3 })).chosen).toEqual(['x-2', 'x-3']);
    expect((await choose(days(1), { waiting, rows: { 1: 20_000 } })).chosen).toEqual([]);
    const schedule = { metadata: { name: 'y' }, spec: { intervalHours: 1 } } as unknown as BulkExport;
    expect((await choose(days(1), { waiting: [schedule] })).chosen).toEqual([]);
  });

  it('takes the run of an export of one day that has not asked for a place', async () => {
    const fresh = { ...anOther('b', 1), status: undefined };
    expect((await choose(days(1), { others: [fresh], totalOfOthers: 1 })).chosen).toEqual(['b-1']);
    expect((await choose(days(1), { others: [fresh], totalOfOthers: 2 })).chosen).toEqual([]);
  });

  it('has a short form of a run that holds all of its own', () => {
    const [first, other] = [aRun(1, { predecessorUid: 'a' }), aRun(2, { lateOfUid: 'b' })];
    expect(specOfFollowing(first.spec, followingRun(first, other))).toEqual(other.spec);
    expect(specOfFollowing(other.spec, followingRun(other, first))).toEqual(first.spec);
    expect(followingRun(first, aRun(1, { predecessorUid: 'a' })).own).toEqual({});
  });
});
