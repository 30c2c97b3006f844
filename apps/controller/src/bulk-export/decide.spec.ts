import { DEFAULT_EXPORT_LIMITS } from '#lib/export-plan';
import type { BulkExport, BulkExportDestination, BulkExportRun, Condition, Workspace } from '#lib/resources';
import type { Project } from '#lib/trace-store';
import { decideExport, type ExportWorld } from './decide.js';
import { summarizeExport } from './export-status.js';

const NOW = new Date('2026-05-03T12:00:00Z');

function condition(type: string, status: 'True' | 'False' = 'True', reason = type): Condition {
  return { type, status, reason, message: reason, lastTransitionTime: NOW.toISOString() };
}

function anExport(spec: object = {}, status: object = {}, name = 'x'): BulkExport {
  return {
    metadata: { name, namespace: 'ws', uid: name, generation: 1, creationTimestamp: '2026-05-03T00:00:00Z' },
    spec: {
      destinationRef: { name: 'local' },
      tracingProject: { name: 'p' },
      startTime: '2026-05-01T06:00:00Z',
      endTime: '2026-05-03T00:00:00Z',
      format: 'parquet',
      formatVersion: 'v1',
      compression: 'zstd',
      cancel: false,
      suspend: false,
      ...spec,
    },
    status,
  } as unknown as BulkExport;
}

function aRun(day: string, conditions: readonly Condition[] = [], status: object = {}): BulkExportRun {
  const start = day === '2026-05-01' ? `${day}T06:00:00Z` : `${day}T00:00:00Z`;
  const end = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().replace('.000', '');
  return {
    metadata: { name: `x-${day}` },
    spec: { startTime: start, endTime: end, projectId: 'project' },
    status: { conditions, ...status },
  } as unknown as BulkExportRun;
}

function aDestination(metadata: object = {}): BulkExportDestination {
  return {
    metadata: { name: 'local', uid: 'd', generation: 2, ...metadata },
    spec: { config: { bucketName: 'b', includeBucketInPrefix: true } },
    status: { observedGeneration: 2, conditions: [condition('Validated')] },
  } as unknown as BulkExportDestination;
}

const FORCED = {
  deletionTimestamp: NOW.toISOString(),
  annotations: { 'agentplane.dev/force-deletion': 'true' },
};

function world(changes: Partial<ExportWorld> = {}): ExportWorld {
  const bulkExport = changes.bulkExport ?? anExport();
  return {
    bulkExport,
    workspace: { spec: { plan: 'enterprise', tenantId: 't' } } as Workspace,
    destination: aDestination(),
    project: { id: 'project' } as Project,
    runs: [],
    hasWorker: false,
    siblings: [bulkExport],
    now: NOW,
    limits: DEFAULT_EXPORT_LIMITS,
    ...changes,
  };
}

function kind(changes: Partial<ExportWorld>): string {
  const decision = decideExport(world(changes));
  return 'reason' in decision ? `${decision.kind} ${decision.reason}` : decision.kind;
}

/** An export that continues one whose window was `last`, and failed. */
function continuing(isSettled: boolean, project = 'project'): Partial<ExportWorld> {
  const window = { startTime: undefined, endTime: undefined, last: '24h' };
  const resolved = { startTime: '2026-04-01T06:00:00Z', endTime: '2026-04-02T06:00:00Z' };
  const failed = { conditions: [condition('Failed', 'True', 'RunFailed')] };
  const former = anExport(window, { ...resolved, ...failed, tracingProjectId: project }, 'former');
  const run = {
    metadata: { name: 'r', uid: 'r' },
    spec: { exportId: 'e', destination: aDestination().spec },
  };
  return {
    bulkExport: anExport({ ...window, continues: { id: 'former' } }),
    predecessor: { bulkExport: former, runs: [run as unknown as BulkExportRun], others: [], isSettled },
  };
}

/** An export of the late runs of one whose window was `last`. */
function late(former: object = {}, project = 'project'): Partial<ExportWorld> {
  const window = { startTime: undefined, endTime: undefined, last: '24h' };
  const resolved = { startTime: '2026-04-01T06:00:00Z', endTime: '2026-04-02T06:00:00Z' };
  const status = { ...resolved, conditions: [condition('Completed')], tracingProjectId: project };
  const runs = [{ metadata: { name: 'r', uid: 'r' }, spec: {} } as unknown as BulkExportRun];
  return {
    bulkExport: anExport({ ...window, lateRunsOf: { id: 'former' } }),
    lateOf: { bulkExport: anExport(window, { ...status, ...former }, 'former'), runs },
  };
}

/** An export in the queue of its workspace that was accepted with a destination. */
function inLine(destinationId: string): Partial<ExportWorld> {
  const older = anExport({}, { runs: { total: 3 }, conditions: [condition('Accepted')] }, 'a');
  const bulkExport = anExport({}, { destinationId, conditions: [condition('Accepted', 'True', 'Queued')] });
  const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentExportsPerWorkspace: 1 };
  return { bulkExport, limits, siblings: [older, bulkExport] };
}

const BOTH = [aRun('2026-05-01'), aRun('2026-05-02')];
const DONE = [condition('Completed')];

describe('decideExport', () => {
  it('makes a run for each UTC day that is missing', () => {
    const decision = decideExport(world({ runs: BOTH.slice(0, 1) }));
    expect(decision.kind === 'run' && decision.missing.map(({ day }) => day)).toEqual(['2026-05-02']);
  });

  it('has the window that was resolved for the export that it continues', () => {
    const decision = decideExport(world(continuing(true)));
    expect(decision.kind === 'run' && decision.missing.map(({ day }) => day)).toEqual([
      '2026-04-01',
      '2026-04-02',
    ]);
  });

  it('has the window that was resolved for the export whose late runs it has', () => {
    const decision = decideExport(world(late()));
    expect(decision.kind === 'run' && decision.missing.map(({ day }) => day)).toEqual([
      '2026-04-01',
      '2026-04-02',
    ]);
  });

  it('makes a hundred runs of a long window at a time, and counts all of them', () => {
    const long = world({ bulkExport: anExport({ startTime: '2017-01-01T00:00:00Z' }) });
    const decision = decideExport(long);
    expect(decision.kind === 'run' && decision.next.map(({ day }) => day)).toHaveLength(100);
    expect(summarizeExport(long, decision).runs?.total).toBe(3_409);
  });

  it.each<[string, Partial<ExportWorld>, string]>([
    ['is over when it was completed', { bulkExport: anExport({}, { conditions: DONE }) }, 'finished'],
    [
      'is over when it failed',
      { bulkExport: anExport({}, { conditions: [condition('Failed')] }) },
      'finished',
    ],
    ['is cancelled on request', { bulkExport: anExport({ cancel: true }) }, 'cancel'],
    [
      'waits until an export that it continues changes no more',
      continuing(false),
      'wait PredecessorSettling',
    ],
    ['continues no export of another project', continuing(true, 'other'), 'fail NotContinuable'],
    [
      'continues no export that is unknown',
      { ...continuing(true), predecessor: { bulkExport: undefined, runs: [], others: [], isSettled: true } },
      'fail PredecessorMissing',
    ],
    ['has no late runs of another project', late({}, 'other'), 'fail LateRunsUnknown'],
    ['has no late runs of one that is not completed', late({ conditions: [] }), 'fail LateRunsUnknown'],
    [
      'has no late runs of one that is unknown',
      { ...late(), lateOf: { bulkExport: undefined, runs: [] } },
      'fail PredecessorMissing',
    ],
    ['needs a plan', { workspace: { spec: { plan: 'developer' } } as Workspace }, 'fail PlanNotAllowed'],
    ['waits for its destination', { destination: undefined }, 'wait DestinationMissing'],
    [
      'waits for its destination to be validated',
      {
        destination: {
          metadata: { name: 'local', generation: 2 },
          status: { observedGeneration: 2 },
        } as BulkExportDestination,
      },
      'wait DestinationNotReady',
    ],
    [
      'waits for the test of a destination that was changed',
      {
        destination: aDestination({ generation: 3 }),
      },
      'wait DestinationNotReady',
    ],
    ['waits for its project', { project: undefined }, 'wait ProjectMissing'],
    [
      'refuses a filter that has no meaning',
      { bulkExport: anExport({ filter: 'eq(nmae, "x")' }) },
      'fail InvalidFilter',
    ],
    [
      'refuses a window that ends before it starts',
      { bulkExport: anExport({ endTime: '2026-04-01T00:00:00Z' }) },
      'fail InvalidWindow',
    ],
    [
      'refuses a window of a thousand years',
      { bulkExport: anExport({ startTime: '1026-05-01T00:00:00Z' }) },
      'fail InvalidWindow',
    ],
    [
      'waits for a window that ends ahead',
      { bulkExport: anExport({ endTime: '2026-06-01T00:00:00Z' }) },
      'wait WaitingForWindow',
    ],
    [
      'lets late rows come when its window ended ahead',
      { bulkExport: anExport({ endTime: '2026-05-03T11:55:00Z' }) },
      'wait WaitingForWindow',
    ],
    [
      'begins ten minutes after a window that ended ahead',
      { bulkExport: anExport({ endTime: '2026-05-03T11:50:00Z' }) },
      'run',
    ],
    [
      'begins at once when its window ended in the second of its creation',
      {
        bulkExport: anExport({ endTime: '2026-05-03T00:00:00.900Z' }),
        now: new Date('2026-05-03T00:00:01Z'),
      },
      'run',
    ],
    ['goes on while runs do', { runs: BOTH }, 'run'],
    [
      'fails with a run that was ended by hand',
      { runs: [aRun('2026-05-01', [condition('Failed', 'True', 'Cancelled')]), aRun('2026-05-02')] },
      'fail RunFailed',
    ],
    [
      'is out of time when its runs are, whichever is reconciled first',
      { runs: [aRun('2026-05-01', [condition('Failed', 'True', 'TimedOut')]), aRun('2026-05-02')] },
      'fail TimedOut',
    ],
    [
      'is complete when every run is',
      { runs: BOTH.map((run) => ({ ...run, status: { conditions: DONE } })) },
      'complete',
    ],
    [
      'fails with a run that failed for good',
      { runs: [aRun('2026-05-01', [condition('Failed', 'True', 'StorageFailed')]), aRun('2026-05-02')] },
      'fail RunFailed',
    ],
    [
      'times out',
      { runs: BOTH, bulkExport: anExport({}, { startedAt: '2026-04-29T00:00:00Z' }) },
      'fail TimedOut',
    ],
    [
      'fails when its destination is deleted before every run was made',
      { runs: BOTH.slice(0, 1), destination: undefined },
      'fail DestinationDeleted',
    ],
    [
      'fails when its destination is deleted under way',
      { runs: BOTH, destination: undefined },
      'fail DestinationDeleted',
    ],
    [
      'goes on while its destination is being deleted, which waits for it',
      { runs: BOTH, destination: aDestination({ deletionTimestamp: NOW.toISOString() }) },
      'run',
    ],
    [
      'fails when its destination is being deleted by force',
      { runs: BOTH, destination: aDestination(FORCED) },
      'fail DestinationDeleted',
    ],
    [
      'fails when another destination took the name of its own',
      { runs: BOTH, bulkExport: anExport({}, { destinationId: 'former' }) },
      'fail DestinationDeleted',
    ],
    [
      'fails when its destination is deleted while it waits for its turn',
      { ...inLine('d'), destination: undefined },
      'fail DestinationDeleted',
    ],
    [
      'fails when its destination is being deleted by force while it waits for its turn',
      { ...inLine('d'), destination: aDestination(FORCED) },
      'fail DestinationDeleted',
    ],
    ['fails when another took the name before its first run', inLine('former'), 'fail DestinationDeleted'],
    [
      'waits for the test of its destination while it waits for its turn',
      { ...inLine('d'), destination: aDestination({ generation: 3 }) },
      'wait DestinationNotReady',
    ],
    [
      'waits for a destination that was deleted before it was accepted',
      { destination: aDestination({ deletionTimestamp: NOW.toISOString() }) },
      'wait DestinationMissing',
    ],
    [
      'is complete although its destination was deleted after its last run',
      { runs: BOTH.map((run) => ({ ...run, status: { conditions: DONE } })), destination: undefined },
      'complete',
    ],
    [
      'makes no run without the Workspace, which may be on its way out',
      { runs: BOTH.slice(0, 1), workspace: undefined },
      'wait WorkspaceMissing',
    ],
    [
      'no longer minds a destination that changed under way',
      {
        runs: BOTH,
        bulkExport: anExport({}, { destinationId: 'd' }),
        destination: aDestination({ generation: 3 }),
      },
      'run',
    ],
  ])('%s', (_name, changes, expected) => expect(kind(changes)).toBe(expected));

  it('queues behind older exports of the workspace', () => {
    const accepted = { conditions: [condition('Accepted')] };
    const older = ['a', 'b'].map((name) => anExport({}, accepted, name));
    const bulkExport = anExport({}, accepted);
    const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentExportsPerWorkspace: 2 };
    expect(kind({ bulkExport, limits, siblings: [...older, bulkExport] })).toBe('wait Queued');
    const [first, second] = older;
    const ended = { ...second, status: { conditions: DONE } } as BulkExport;
    expect(kind({ bulkExport, limits, siblings: [first as BulkExport, ended, bulkExport] })).toBe('run');
  });

  it.each<[string, Partial<ExportWorld>, string | undefined]>([
    ['of an export that begins', {}, 'd'],
    ['of one that waits for its window', { now: new Date('2026-05-02T00:00:00Z') }, 'd'],
    ['of one that waits for its turn', inLine('d'), 'd'],
    ['of none that was not accepted', { project: undefined }, undefined],
  ])('keeps the id of the destination %s', (_state, changes, id) => {
    const observed = world(changes);
    expect(summarizeExport(observed, decideExport(observed)).destinationId).toBe(id);
  });

  it('reports the same, whatever its position in the queue, and looks seldom', () => {
    const accepted = { conditions: [condition('Accepted')] };
    const older = ['a', 'b', 'c'].map((name) => anExport({}, accepted, name));
    const bulkExport = anExport({}, accepted);
    const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentExportsPerWorkspace: 2 };
    expect(decideExport(world({ bulkExport, limits, siblings: [...older, bulkExport] }))).toMatchObject({
      message: 'queued: the workspace has 2 exports at work, the most it may',
      ms: 600_000,
    });
  });

  it('reports why its destination cannot be used', () => {
    const destination = {
      ...aDestination(),
      status: { observedGeneration: 2, conditions: [condition('Ready', 'False', 'Bucket is not valid')] },
    } as unknown as BulkExportDestination;
    expect(decideExport(world({ destination }))).toMatchObject({
      message: 'BulkExportDestination local cannot be used: Bucket is not valid',
    });
  });

  it('queues behind exports that have begun, even younger ones', () => {
    const young = anExport({}, { runs: { total: 3 }, conditions: [condition('Accepted')] }, 'y');
    const bulkExport = anExport({}, {}, 'a');
    const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentExportsPerWorkspace: 1 };
    expect(kind({ bulkExport, limits, siblings: [young, bulkExport] })).toBe('wait Queued');
  });

  it('continues when it has begun, even if a crash left it without runs', () => {
    const before = anExport({}, { conditions: [condition('Accepted')] }, 'a');
    const bulkExport = anExport({}, { runs: { total: 3 } });
    const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentExportsPerWorkspace: 1 };
    expect(kind({ bulkExport, limits, siblings: [before, bulkExport] })).toBe('run');
  });

  it('does not queue behind an export that waits for its window to end', () => {
    const waiting = anExport({}, { conditions: [condition('Accepted', 'True', 'WaitingForWindow')] }, 'a');
    const bulkExport = anExport();
    const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentExportsPerWorkspace: 1 };
    expect(kind({ bulkExport, limits, siblings: [waiting, bulkExport] })).toBe('run');
  });

  it('counts `last` from the creation, once', () => {
    const bulkExport = anExport({ startTime: undefined, endTime: undefined, last: '24h' });
    const decision = decideExport(world({ bulkExport }));
    const status = summarizeExport(world({ bulkExport }), decision);
    expect([status.startTime, status.endTime]).toEqual(['2026-05-02T00:00:01Z', '2026-05-03T00:00:01Z']);
  });

  it('gives the last rows of `last` three seconds to arrive', () => {
    const bulkExport = anExport({ startTime: undefined, endTime: undefined, last: '24h' });
    const at = (time: string): string => kind({ bulkExport, now: new Date(time) });
    expect(at('2026-05-03T00:00:03.999Z')).toBe('wait WaitingForWindow');
    expect(at('2026-05-03T00:00:04Z')).toBe('run');
    const decision = decideExport(world({ bulkExport, now: new Date('2026-05-03T00:00:00.250Z') }));
    expect(decision).toMatchObject({
      message:
        'the window ends at 2026-05-03T00:00:01Z; the export begins three seconds later, at 2026-05-03T00:00:04Z',
      ms: 3750,
    });
  });
});

describe('summarizeExport', () => {
  it.each([
    ['its end', { runs: BOTH.map((run) => ({ ...run, status: { conditions: DONE } })) }, 'Completed'],
    [
      'its end, also later',
      { bulkExport: anExport({}, { conditions: [condition('Accepted'), ...DONE] }) },
      'Completed',
    ],
    ['that it waits for its window', { now: new Date('2026-05-02T00:00:00Z') }, 'WaitingForWindow'],
    ['that it has started while it runs', {}, 'Started'],
  ])('reports in the reason of Ready %s', (_what, changes, reason) => {
    const observed = world(changes);
    const ready = summarizeExport(observed, decideExport(observed)).conditions?.find(
      ({ type }) => type === 'Ready',
    );
    expect(ready).toMatchObject({ status: 'True', reason });
    expect(ready?.message).not.toBe('');
  });

  it('adds up its runs, weighed by the time they cover', () => {
    const runs = [
      aRun('2026-05-01', DONE, { rows: 10, bytes: 100 }),
      aRun('2026-05-02', [condition('Running')], {
        rows: 5,
        bytes: 50,
        percent: 50,
        startedAt: '2026-05-03T01:00:00Z',
      }),
    ];
    const observed = world({ runs });
    const status = summarizeExport(observed, decideExport(observed));
    expect(status).toMatchObject({
      rows: 15,
      bytes: 150,
      percent: 71, // 18 h done of 42, half of the other 24
      startedAt: '2026-05-03T01:00:00Z',
      runs: { total: 2, completed: 1, running: 1, created: 0, failed: 0, cancelled: 0, timedOut: 0 },
    });
    expect(status.conditions?.map(({ type, status: value }) => [type, value])).toEqual([
      ['Accepted', 'True'],
      ['Running', 'True'],
      ['Ready', 'True'],
    ]);
  });

  it.each([
    ['in progress', []],
    ['completed', BOTH.map((run) => ({ ...run, status: { conditions: DONE } }))],
  ])('says of an export %s that its window reaches behind what the workspace keeps', (_state, runs) => {
    const keeping = (retention?: object) => {
      const spec = { plan: 'enterprise', tenantId: 't', retention };
      const bulkExport = anExport({}, { startTime: '2026-05-01T06:00:00Z', endTime: '2026-05-03T00:00:00Z' });
      const observed = world({ bulkExport, runs, workspace: { spec } as unknown as Workspace });
      return summarizeExport(observed, decideExport(observed)).conditions?.at(-1)?.message;
    };
    expect(keeping({ shortlivedDays: 2, longlivedDays: 400 })).toMatch(
      /; the workspace does not keep shortlived traces from before 2026-05-01 \(2 days\)$/,
    );
    for (const retention of [undefined, { shortlivedDays: 3, longlivedDays: 0 }])
      expect(keeping(retention)).not.toContain('keep');
  });

  const queued = condition('Running', 'False', 'AwaitingPlace');
  const waiting = ['2026-05-01', '2026-05-02'].map((day, at) =>
    aRun(day, [{ ...queued, message: `position ${at + 1}` }]),
  );
  const working = (day: string): BulkExportRun =>
    aRun(day, [condition('Running', 'True', 'Started')], { attempt: 1 });
  const failing = (day: string): BulkExportRun =>
    aRun(day, [{ ...condition('Running', 'True', 'Retrying'), message: 'attempt 2 of 21 failed' }], {
      attempt: 2,
    });
  const blocked = aRun('2026-05-02', [condition('Running', 'False', 'CredentialsMissing')]);
  const suspended = anExport({ suspend: true });
  const HELD = 'suspended: no further day begins until spec.suspend is false';
  const IN_PROGRESS = 'days are in progress';

  it.each<[string, Partial<ExportWorld>, string, string, string]>([
    ['runs that are not decided yet', { runs: BOTH }, 'True', 'Started', IN_PROGRESS],
    ['a first run that waits for a place', { runs: waiting }, 'True', 'Queued', 'position 1'],
    [
      'runs whose worker has just ended, and that do not show it yet',
      {
        runs: BOTH.map((run) => ({
          ...run,
          status: { conditions: [condition('Running', 'False', 'Queued')] },
        })),
      },
      'True',
      'Started',
      IN_PROGRESS,
    ],
    [
      'a first run that waits behind one that is completed',
      { runs: [aRun('2026-05-01', DONE), ...waiting.slice(1)] },
      'True',
      'Queued',
      'position 2',
    ],
    ['a worker between two runs', { runs: waiting, hasWorker: true }, 'True', 'Started', IN_PROGRESS],
    [
      'a run at work while the first waits',
      { runs: [...waiting.slice(0, 1), working('2026-05-02')] },
      'True',
      'Started',
      IN_PROGRESS,
    ],
    ['a suspension', { bulkExport: suspended, runs: waiting }, 'True', 'Suspended', HELD],
    [
      'a suspension while a run is at work',
      { bulkExport: suspended, runs: [working('2026-05-01'), ...waiting.slice(1)] },
      'True',
      'Suspended',
      `${HELD}; 1 in progress continues to the end`,
    ],
    [
      'a suspension while it waits for its window',
      { bulkExport: suspended, now: new Date('2026-05-02T00:00:00Z') },
      'True',
      'Suspended',
      HELD,
    ],
    [
      'what a suspended export lacks',
      { bulkExport: suspended, destination: undefined },
      'False',
      'DestinationMissing',
      'BulkExportDestination local does not exist',
    ],
    [
      'the failed attempt of a run while another one is at work',
      { runs: [working('2026-05-01'), failing('2026-05-02')] },
      'True',
      'Retrying',
      'day x-2026-05-02: attempt 2 of 21 failed',
    ],
    [
      'failed attempts of all of its runs',
      { runs: [failing('2026-05-01'), failing('2026-05-02')] },
      'True',
      'Retrying',
      'day x-2026-05-01 (and 1 more): attempt 2 of 21 failed',
    ],
    [
      'missing credentials',
      { runs: [working('2026-05-01'), blocked] },
      'False',
      'CredentialsMissing',
      'CredentialsMissing',
    ],
  ])('reports in Ready %s', (_what, changes, status, reason, message) => {
    const observed = world(changes);
    const { conditions } = summarizeExport(observed, decideExport(observed));
    const ready = conditions?.find(({ type }) => type === 'Ready');
    expect([ready?.status, ready?.reason, ready?.message]).toEqual([status, reason, message]);
  });

  it.each<[string, Partial<ExportWorld>, string]>([
    ['completed', { runs: BOTH.map((run) => ({ ...run, status: { conditions: DONE } })) }, 'Completed'],
    [
      'failed',
      { runs: [aRun('2026-05-01', [condition('Failed', 'True', 'StorageFailed')]), ...waiting.slice(1)] },
      'Failed',
    ],
  ])('reports no more whether runs are at work once the export has %s', (_end, changes, end) => {
    const before = [condition('Accepted'), condition('Running', 'False', 'Queued'), condition('Ready')];
    const observed = world({ ...changes, bulkExport: anExport({}, { conditions: before }) });
    const { conditions } = summarizeExport(observed, decideExport(observed));
    expect(conditions?.map(({ type }) => type)).toEqual(['Accepted', 'Ready', end]);
  });

  it('reports why an export waits', () => {
    const observed = world({ destination: undefined });
    const status = summarizeExport(observed, decideExport(observed));
    expect(status.conditions?.map(({ type, status: value, reason }) => [type, value, reason])).toEqual([
      ['Accepted', 'False', 'DestinationMissing'],
      ['Ready', 'False', 'DestinationMissing'],
    ]);
  });
});
