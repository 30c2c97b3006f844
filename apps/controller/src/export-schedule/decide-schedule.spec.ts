import { describe, expect, it } from '@jest/globals';
import type { BulkExport, BulkExportDestination, Condition, Workspace } from '#lib/resources';
import { formatInstant, parseInstant } from '#lib/time';
import { buildChild, childName } from './schedule-reconciler.js';
import { decideSchedule, type ScheduleWorld } from './decide-schedule.js';
import { summarizeSchedule } from './schedule-status.js';

const ID = '6f1c2d3e-0000-4000-8000-000000000001';
const REQUEST = '9a8b7c6d-0000-4000-8000-000000000002';

function condition(type: string, reason = type): Condition {
  return { type, status: 'True', reason, message: reason, lastTransitionTime: '2026-05-01T00:00:00Z' };
}

function aSchedule(spec: object = {}, status: object = {}): BulkExport {
  return {
    metadata: {
      name: 'hourly',
      namespace: 'ws',
      uid: ID,
      generation: 1,
      creationTimestamp: '2026-05-01T00:00:00Z',
    },
    spec: {
      destinationRef: { name: 'local' },
      tracingProject: { name: 'p' },
      startTime: '2026-05-01T00:30:00Z',
      intervalHours: 6,
      format: 'parquet',
      formatVersion: 'v2_beta',
      compression: 'zstd',
      filter: 'eq(status, "error")',
      exportFields: ['id', 'name'],
      cancel: false,
      suspend: false,
      ...spec,
    },
    status,
  } as unknown as BulkExport;
}

/** Export of the `number`th window, from 0. */
function aChild(number: number, isDone = false): BulkExport {
  const start = new Date(Date.parse('2026-05-01T00:30:00Z') + number * 21_600_000);
  const child = buildChild(aSchedule(), windowAt(start, 6), 'project');
  return { ...child, status: { conditions: isDone ? [condition('Completed')] : [] } };
}

function windowAt(start: Date, hours: number) {
  const from = BigInt(start.getTime()) * 1000n;
  return { start: from, end: from + BigInt(hours) * 3_600_000_000n };
}

function world(changes: Partial<ScheduleWorld> = {}, now = '2026-05-01T07:00:00Z'): ScheduleWorld {
  return {
    schedule: aSchedule(),
    workspace: { spec: { plan: 'enterprise', tenantId: 't' } } as Workspace,
    destination: {
      metadata: { name: 'local', generation: 2 },
      status: { observedGeneration: 2, conditions: [condition('Validated')] },
    } as unknown as BulkExportDestination,
    project: { id: 'project', name: 'p' },
    children: [],
    now: new Date(now),
    maxUnfinished: 3,
    ...changes,
  };
}

function text(changes: Partial<ScheduleWorld>, now?: string): string {
  const decision = decideSchedule(world(changes, now));
  switch (decision.kind) {
    case 'spawn':
      return `spawn ${formatInstant(decision.window.start, 'if-any')} ${formatInstant(decision.window.end, 'if-any')}`;
    case 'rest':
      return `rest ${decision.why} ${decision.ms}`;
    case 'wait':
    case 'fail':
      return `${decision.kind} ${decision.reason}`;
    case 'cancel':
    case 'finished':
      return decision.kind;
    default:
      return decision satisfies never;
  }
}

describe('decideSchedule', () => {
  it.each<[string, Partial<ScheduleWorld>, string, string]>([
    [
      'makes the export of the first window when it has ended',
      {},
      '2026-05-01T06:30:00Z',
      'spawn 2026-05-01T00:30:00Z 2026-05-01T06:30:00Z',
    ],
    ['makes nothing a millisecond before the end', {}, '2026-05-01T06:29:59.999Z', 'rest scheduled 200'],
    [
      'continues exactly where the last window ended, however late',
      { children: [aChild(0, true)] },
      '2026-05-09T00:00:00Z',
      'spawn 2026-05-01T06:30:00Z 2026-05-01T12:30:00Z',
    ],
    [
      'takes the latest of status, exports and archive',
      {
        children: [aChild(0, true)],
        archivedUntil: parseInstant('2026-05-02T00:30:00Z', { zone: 'required' }),
        schedule: aSchedule({}, { spawnedUntil: '2026-05-01T18:30:00Z' }),
      },
      '2026-05-09T00:00:00Z',
      'spawn 2026-05-02T00:30:00Z 2026-05-02T06:30:00Z',
    ],
    [
      'goes on after exports that were deleted',
      { schedule: aSchedule({}, { spawnedUntil: '2026-05-01T18:30:00Z' }) },
      '2026-05-02T00:30:00Z',
      'spawn 2026-05-01T18:30:00Z 2026-05-02T00:30:00Z',
    ],
    [
      'makes no more exports than may run at a time',
      { children: [aChild(0), aChild(1), aChild(2)] },
      '2026-05-09T00:00:00Z',
      'rest behind 200',
    ],
    [
      'goes on when one of them has ended',
      { children: [aChild(0, true), aChild(1), aChild(2)] },
      '2026-05-09T00:00:00Z',
      'spawn 2026-05-01T18:30:00Z 2026-05-02T00:30:00Z',
    ],
    [
      'rests while it is suspended',
      { schedule: aSchedule({ suspend: true }) },
      '2026-05-09T00:00:00Z',
      'rest suspended 200',
    ],
    [
      'ends when it is cancelled',
      { schedule: aSchedule({ cancel: true }) },
      '2026-05-09T00:00:00Z',
      'cancel',
    ],
    [
      'is over once it was cancelled',
      { schedule: aSchedule({ cancel: true }, { conditions: [condition('Failed', 'Cancelled')] }) },
      '2026-05-09T00:00:00Z',
      'finished',
    ],
    ['waits for its project', { project: undefined }, '2026-05-09T00:00:00Z', 'wait ProjectMissing'],
    [
      'waits for its destination',
      { destination: undefined },
      '2026-05-09T00:00:00Z',
      'wait DestinationMissing',
    ],
    [
      'refuses a plan without exports when it is new',
      { workspace: { spec: { plan: 'developer' } } as Workspace },
      '2026-05-09T00:00:00Z',
      'fail PlanNotAllowed',
    ],
    [
      'waits for the plan when it was live before',
      {
        workspace: { spec: { plan: 'developer' } } as Workspace,
        schedule: aSchedule({}, { spawnedUntil: '2026-05-01T18:30:00Z' }),
      },
      '2026-05-09T00:00:00Z',
      'wait PlanNotAllowed',
    ],
    [
      'refuses a start that lies decades back',
      { schedule: aSchedule({ startTime: '1926-05-01T00:00:00Z' }) },
      '2026-05-09T00:00:00Z',
      'fail InvalidWindow',
    ],
    [
      'exports the open window up to now on request, even while suspended',
      { schedule: aSchedule({ suspend: true, runRequest: { id: REQUEST } }) },
      '2026-05-01T13:00:00.700Z',
      'spawn 2026-05-01T12:30:00Z 2026-05-01T13:00:00Z',
    ],
    [
      'handles a request once',
      { schedule: aSchedule({ runRequest: { id: REQUEST } }, { handledRunRequestId: REQUEST }) },
      '2026-05-01T05:00:00Z',
      'rest scheduled 60000',
    ],
  ])('%s', (_name, changes, now, expected) => expect(text(changes, now)).toBe(expected));

  it('leaves exports that were requested out of the sequence of windows', () => {
    const asked = buildChild(aSchedule(), windowAt(new Date('2026-05-01T06:30:00Z'), 3), 'project', REQUEST);
    const children = [aChild(0, true), { ...asked, status: { conditions: [condition('Completed')] } }];
    const schedule = aSchedule({ runRequest: { id: REQUEST } });
    expect(text({ children, schedule }, '2026-05-01T12:30:00Z')).toBe(
      'spawn 2026-05-01T06:30:00Z 2026-05-01T12:30:00Z',
    );
  });
});

describe('buildChild', () => {
  const window = windowAt(new Date('2026-05-01T06:30:00Z'), 6);

  it('carries filter, fields, format and destination, and neither the interval nor a suspension', () => {
    const child = buildChild(aSchedule({ suspend: true, runRequest: { id: REQUEST } }), window, 'project');
    expect(child.metadata).toMatchObject({
      name: 'hourly-6f1c2d-2026050106',
      namespace: 'ws',
      labels: { 'agentplane.dev/source-export': 'hourly' },
    });
    expect(child.metadata.ownerReferences).toBeUndefined();
    expect(child.spec).toEqual({
      destinationRef: { name: 'local' },
      tracingProject: { id: 'project' },
      startTime: '2026-05-01T06:30:00Z',
      endTime: '2026-05-01T12:30:00Z',
      filter: 'eq(status, "error")',
      exportFields: ['id', 'name'],
      format: 'parquet',
      formatVersion: 'v2_beta',
      compression: 'zstd',
      cancel: false,
      suspend: false,
      sourceExport: { id: ID },
    });
  });

  it('gives each window a name of its own, of at most 54 characters', () => {
    const schedule = { ...aSchedule(), metadata: { name: `a${'b'.repeat(53)}`, uid: ID } };
    const names = [0, 1, 2].map((hour) => childName(schedule, windowAt(new Date(hour * 3_600_000), 1)));
    expect(new Set(names).size).toBe(3);
    expect(childName(schedule, window, REQUEST)).not.toBe(childName(schedule, window));
    for (const name of [...names, childName(schedule, window, REQUEST)])
      expect(name).toMatch(/^[a-z][-a-z0-9]{0,52}[a-z0-9]$/);
  });
});

describe('summarizeSchedule', () => {
  const summary = (changes: Partial<ScheduleWorld>, now: string) => {
    const one = world(changes, now);
    return summarizeSchedule(one, decideSchedule(one));
  };
  const ready = (status: ReturnType<typeof summary>) =>
    status.conditions?.find(({ type }) => type === 'Ready');

  it('names the next export and what is late', () => {
    const status = summary({ children: [aChild(0), aChild(1), aChild(2)] }, '2026-05-02T07:00:00Z');
    expect(status).toMatchObject({
      spawnedUntil: '2026-05-01T18:30:00Z',
      nextSpawn: '2026-05-02T00:30:00Z',
      windowsBehind: 2,
      unfinishedExports: 3,
      tracingProjectId: 'project',
    });
    expect(ready(status)).toMatchObject({
      status: 'True',
      reason: 'CatchingUp',
      message:
        '2 windows without an export: 3 exports of this schedule have not ended, as many as may run at a time',
    });
  });

  it('reports nothing to come once it is cancelled', () => {
    const schedule = aSchedule({ cancel: true }, { spawnedUntil: '2026-05-01T18:30:00Z' });
    const status = summary({ schedule }, '2026-05-02T07:00:00Z');
    expect(status).toMatchObject({
      spawnedUntil: '2026-05-01T18:30:00Z',
      finishedAt: '2026-05-02T07:00:00.000Z',
    });
    expect(status.nextSpawn).toBeUndefined();
    expect(ready(status)).toMatchObject({ status: 'False', reason: 'Cancelled' });
  });

  it('notes a request only when its export exists', () => {
    const schedule = aSchedule({ runRequest: { id: REQUEST } });
    const asked = buildChild(schedule, windowAt(new Date('2026-05-01T00:30:00Z'), 3), 'project', REQUEST);
    expect(summary({ schedule }, '2026-05-01T04:00:00Z').handledRunRequestId).toBeUndefined();
    expect(summary({ schedule, children: [asked] }, '2026-05-01T04:00:00Z').handledRunRequestId).toBe(
      REQUEST,
    );
  });
});
