import { describe, expect, it } from '@jest/globals';
import type { Handler } from '#lib/kube';
import { type BulkExport, type BulkExportRun, CONDITION, type Job } from '#lib/resources';
import { systemClock } from '#lib/time';
import { RunPlaces, WorkspaceLine } from './run-places.js';

const EXPORT = { metadata: { name: 'x', uid: 'export' }, spec: {} } as BulkExport;

function aRun(day: number, isFinished = false): BulkExportRun {
  return {
    metadata: { name: `x-${day}`, ownerReferences: [{ uid: 'export' }] },
    spec: { exportName: 'x', startTime: `2026-01-${String(day).padStart(2, '0')}T00:00:00Z` },
    status: { conditions: isFinished ? [{ type: CONDITION.completed, status: 'True' }] : [] },
  } as unknown as BulkExportRun;
}

/** A cache whose reads are counted. */
function cacheOf(runs: BulkExportRun[]) {
  let tell: Handler<BulkExportRun> | undefined;
  const cache = {
    reads: 0,
    on: (handler: Handler<BulkExportRun>) => {
      tell = handler;
      return () => true;
    },
    list: () => runs,
    ownedBy: () => {
      cache.reads++;
      return runs;
    },
    change: (at: number, object: BulkExportRun) => {
      const before = runs[at] as BulkExportRun;
      runs[at] = object;
      tell?.({ kind: 'changed', object, before });
    },
  };
  return cache;
}

function ofNamespace(namespace: string, exportName = 'x', name = 'x-1'): BulkExportRun {
  const run = aRun(1);
  return { ...run, metadata: { ...run.metadata, name, namespace }, spec: { ...run.spec, exportName } };
}

const NONE = { onChange: () => undefined, shared: () => [] };

describe('RunPlaces', () => {
  it('counts the unfinished runs that begin before', () => {
    const runs = [aRun(3), aRun(1, true), aRun(2), aRun(9), aRun(4)];
    const places = new RunPlaces(cacheOf(runs), NONE, new WorkspaceLine(systemClock), systemClock);
    expect(runs.map((run) => places.of(run, EXPORT))).toEqual([1, 0, 0, 3, 2]);
  });

  it('counts what is at work, of all and of a workspace', () => {
    const begun = (namespace: string, attempt: number, isFinished = false): BulkExportRun => {
      const run = aRun(1, isFinished);
      return { ...run, metadata: { ...run.metadata, namespace }, status: { ...run.status, attempt } };
    };
    const cache = cacheOf([begun('a', 1), begun('a', 2), begun('a', 0), begun('a', 1, true), begun('b', 1)]);
    const places = new RunPlaces(cache, NONE, new WorkspaceLine(systemClock), systemClock);
    expect(places.atWork(ofNamespace('a'))).toEqual({ all: 3, ofWorkspace: 2, ahead: 0, exportsAhead: 0 });
    cache.change(0, begun('a', 1, true));
    expect([places.atWork(ofNamespace('a')), places.atWork(ofNamespace('c'))]).toEqual([
      { all: 2, ofWorkspace: 1, ahead: 0, exportsAhead: 0 },
      { all: 2, ofWorkspace: 0, ahead: 0, exportsAhead: 0 },
    ]);
  });

  it('counts a worker of several once, also between two of them', () => {
    const begun = { ...aRun(1), metadata: { name: 'x-1', namespace: 'a' }, status: { attempt: 1 } };
    const between = { ...begun, status: { attempt: 0 } };
    const cache = cacheOf([begun]);
    const job = {
      metadata: {
        name: 'j',
        labels: { 'agentplane.dev/export-namespace': 'a', 'agentplane.dev/export-run': 'x-0' },
        annotations: { 'agentplane.dev/following-runs': '[{"name":"x-1","uid":"u"}]' },
      },
    } as unknown as Job;
    const places = new RunPlaces(
      cache,
      { ...NONE, shared: () => [job] },
      new WorkspaceLine(systemClock),
      systemClock,
    );
    expect(places.atWork(ofNamespace('a'))).toEqual({ all: 1, ofWorkspace: 1, ahead: 0, exportsAhead: 0 });
    cache.change(0, between);
    expect(places.atWork(ofNamespace('a'))).toEqual({ all: 1, ofWorkspace: 1, ahead: 0, exportsAhead: 0 });
  });

  it('has the exports of a workspace take turns, those with fewer runs at work first', () => {
    const large = ofNamespace('a', 'large', 'large-2');
    const small = ofNamespace('a', 'small', 'small-1');
    const begun = { ...ofNamespace('a', 'large', 'large-1'), status: { attempt: 1 } } as BulkExportRun;
    const cache = cacheOf([begun]);
    const places = new RunPlaces(cache, NONE, new WorkspaceLine(systemClock), systemClock);
    places.wait(small);
    // it looks last, and was at work first
    places.wait(large);
    expect([large, small].map((run) => places.atWork(run).exportsAhead)).toEqual([1, 0]);
    expect(places.nextOfPlatform()).toEqual([{ namespace: 'a', name: 'small-1' }]);
    places.begin(small);
    places.wait(large);
    expect(places.atWork(large).exportsAhead).toBe(0);
    expect(places.nextOfPlatform()).toEqual([{ namespace: 'a', name: 'large-2' }]);
    // another workspace has a queue of its own
    expect(places.atWork(ofNamespace('b', 'small')).exportsAhead).toBe(0);
  });

  it('keeps no place for an export whose run cannot begin', () => {
    const [large, small] = [ofNamespace('a', 'large'), ofNamespace('a', 'small')];
    const cache = cacheOf([{ ...large, status: { attempt: 1 } }]);
    const places = new RunPlaces(cache, NONE, new WorkspaceLine(systemClock), systemClock);
    places.wait(small);
    places.leave(small);
    expect(places.atWork(large).exportsAhead).toBe(0);
  });

  it('reads the runs of an export once for all that ask, until one changes', () => {
    const runs = Array.from({ length: 28 }, (_, n) => aRun(n + 1));
    const cache = cacheOf(runs);
    const places = new RunPlaces(cache, NONE, new WorkspaceLine(systemClock), systemClock);
    for (const run of runs) places.of(run, EXPORT);
    expect(cache.reads).toBe(1);
    cache.change(0, aRun(1, true));
    expect(runs.map((run) => places.of(run, EXPORT))).toEqual([
      0,
      ...Array.from({ length: 27 }, (_, n) => n),
    ]);
    expect(cache.reads).toBe(2);
  });
});
