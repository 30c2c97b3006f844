import { DEFAULT_EXPORT_LIMITS } from '#lib/export-plan';
import {
  type BulkExport,
  type BulkExportRun,
  type Condition,
  exportJobName,
  type Job,
  type Pod,
} from '#lib/resources';
import type { ExportProgressRecord } from '#lib/trace-store';
import { decideRun, type ExportRunWorld } from './decide.js';
import { summarizeRun } from './run-status.js';

const NOW = new Date('2026-05-03T12:00:00Z');
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();

function condition(type: string, status: 'True' | 'False' = 'True', reason = type): Condition {
  return { type, status, reason, message: reason, lastTransitionTime: ago(60) };
}

function aRun(attempt: number, conditions: readonly Condition[] = [], day = '02'): BulkExportRun {
  return {
    metadata: { name: `x-${day}`, uid: 'u', generation: 1 },
    spec: { startTime: `2026-05-${day}T00:00:00Z`, endTime: `2026-05-${day}T12:00:00Z` },
    status: { attempt, conditions },
  } as unknown as BulkExportRun;
}

function aJob(failed?: { secondsAgo: number; message?: string }): Job {
  return {
    metadata: { name: 'j' },
    status: failed
      ? {
          conditions: [
            {
              type: 'Failed',
              status: 'True',
              lastTransitionTime: ago(failed.secondsAgo),
              message: failed.message ?? 'BackoffLimitExceeded',
            },
          ],
        }
      : { active: 1 },
  } as unknown as Job;
}

const complete = (secondsAgo: number): object => ({
  type: 'Complete',
  status: 'True',
  lastTransitionTime: ago(secondsAgo),
});

function aPod(exitCode: number): Pod {
  const status = { containerStatuses: [{ state: { terminated: { exitCode } } }] };
  return { spec: { containers: [{}] }, status } as unknown as Pod;
}

const terminated = (of: object): object => ({ state: { terminated: of } });

function progress(
  attempt: number,
  state: ExportProgressRecord['state'],
  more: object = {},
): ExportProgressRecord {
  return { attempt, state, rows: 7, bytes: 70, files: 1, updatedAt: NOW, ...more } as ExportProgressRecord;
}

function world(changes: Partial<ExportRunWorld> = {}): ExportRunWorld {
  const run = changes.run ?? aRun(1);
  const hasBegun = (run.status?.attempt ?? 0) > 0;
  return {
    run,
    bulkExport: { metadata: { name: 'x' }, spec: {} } as BulkExport,
    place: 0,
    atWork: { all: 0, ofWorkspace: 0, ahead: 0, exportsAhead: 0 },
    job: hasBegun ? aJob() : undefined,
    pods: [],
    progress: hasBegun ? progress(1, 'running') : undefined,
    now: NOW,
    limits: DEFAULT_EXPORT_LIMITS,
    ...changes,
  };
}

function outcomeOf(changes: Partial<ExportRunWorld>): string {
  const decision = decideRun(world(changes));
  if (decision.kind === 'fail') return `fail ${decision.reason}`;
  return decision.kind === 'start' ? `start ${decision.attempt}` : decision.kind;
}

describe('decideRun', () => {
  const cancelled = { metadata: { name: 'x' }, spec: { cancel: true } } as BulkExport;
  it.each<[string, Partial<ExportRunWorld>, string]>([
    ['begins with attempt 1', { run: aRun(0), job: undefined, progress: undefined }, 'start 1'],
    ['makes the Job that a crash left out', { job: undefined, progress: undefined }, 'ensureJob'],
    [
      'makes the Job of the next attempt, whatever the former left',
      { run: aRun(2), job: undefined, progress: progress(1, 'failed') },
      'ensureJob',
    ],
    ['watches an attempt', {}, 'watch'],
    [
      'is complete by the word of the worker, even if its Job failed after it',
      { job: aJob({ secondsAgo: 1 }), progress: progress(1, 'completed') },
      'complete',
    ],
    [
      'is complete although it was cancelled in the same moment',
      { bulkExport: cancelled, progress: progress(1, 'completed') },
      'complete',
    ],
    [
      'pauses after a failed attempt',
      { job: aJob({ secondsAgo: 10 }), progress: progress(1, 'failed') },
      'pause',
    ],
    [
      'begins the next attempt after the pause',
      { job: aJob({ secondsAgo: 31 }), progress: progress(1, 'running') },
      'start 2',
    ],
    [
      'fails at once when the store refuses',
      { job: aJob({ secondsAgo: 1 }), pods: [aPod(65)], progress: progress(1, 'failed') },
      'fail StorageFailed',
    ],
    [
      'fails at once when the worker cannot do what the run asks for',
      { job: aJob({ secondsAgo: 1 }), pods: [aPod(64)], progress: progress(1, 'failed') },
      'fail RunRefused',
    ],
    [
      'does not take the end of a process for the end of the export',
      { job: { ...aJob(), status: { conditions: [complete(31)] } } as Job, progress: progress(1, 'running') },
      'start 2',
    ],
    [
      'fails after 21 attempts',
      { run: aRun(21), job: aJob({ secondsAgo: 99 }), progress: progress(21, 'failed') },
      'fail AttemptFailed',
    ],
    [
      'counts a deleted Job as an attempt',
      { job: undefined, progress: progress(1, 'running', { updatedAt: new Date(ago(60)) }) },
      'start 2',
    ],
    ['ends when the export is cancelled', { bulkExport: cancelled }, 'fail Cancelled'],
    [
      'ends when another run has failed the export',
      { bulkExport: { spec: {}, status: { conditions: [condition('Failed')] } } as unknown as BulkExport },
      'fail Cancelled',
    ],
    [
      'fails with the destination of the export',
      {
        bulkExport: {
          spec: {},
          status: { conditions: [condition('Failed', 'True', 'DestinationDeleted')] },
        } as unknown as BulkExport,
      },
      'fail DestinationDeleted',
    ],
    ['waits in a worker that takes others before it', { run: aRun(0), job: aJob() }, 'queue'],
    [
      'begins where the run in work has held such a worker up for too long to take another',
      { run: aRun(0), job: { ...aJob(), status: { startTime: ago(661) } } },
      'start 1',
    ],
    [
      'waits for such a worker as long as it takes further runs',
      { run: aRun(0), job: { ...aJob(), status: { startTime: ago(659) } } },
      'queue',
    ],
    [
      'goes on where such a worker has claimed it',
      { run: aRun(0), job: aJob(), progress: progress(1, 'running') },
      'watch',
    ],
    [
      'completes what such a worker has completed, long after it ended',
      { run: aRun(0), job: undefined, progress: progress(1, 'completed') },
      'complete',
    ],
    [
      'begins where such a worker ended before it claimed the run, without a pause',
      { run: aRun(0), job: aJob({ secondsAgo: 0 }) },
      'start 1',
    ],
    [
      'pauses where such a worker was killed in the run',
      { run: aRun(0), job: aJob({ secondsAgo: 1 }), progress: progress(1, 'running') },
      'pause',
    ],
    [
      'begins anew once it was held, though the worker that had it goes on',
      { run: aRun(0), job: aJob(), progress: progress(0, 'held') },
      'start 1',
    ],
    [
      'makes the Job of an attempt whose start was cut short, though the worker that had it goes on',
      { run: aRun(1), job: aJob(), progress: progress(0, 'held') },
      'ensureJob',
    ],
    [
      'takes the end of such a worker for none of an attempt that was not claimed',
      { run: aRun(1), job: aJob({ secondsAgo: 31 }), progress: progress(0, 'held') },
      'ensureJob',
    ],
    [
      'counts an attempt whose own worker ended before it claimed the run',
      {
        run: aRun(1),
        progress: undefined,
        job: { ...aJob({ secondsAgo: 31 }), metadata: { name: exportJobName('u', 1) } },
      },
      'start 2',
    ],
    [
      'begins nothing that was shut out before it began',
      { run: aRun(0), progress: progress(0, 'cancelled') },
      'fail Cancelled',
    ],
    ['ends when the export was deleted', { bulkExport: undefined }, 'fail Cancelled'],
    [
      'ends when the export is out of time',
      { bulkExport: { spec: {}, status: { startedAt: '2026-04-29T00:00:00Z' } } as BulkExport },
      'fail TimedOut',
    ],
    [
      'begins nothing that was shut out before a crash',
      { job: undefined, progress: progress(0, 'cancelled') },
      'fail Cancelled',
    ],
    ['does nothing once finished', { run: aRun(1, [condition('Completed')]) }, 'finished'],
    [
      'does not begin while the export is suspended',
      { run: aRun(0), bulkExport: { spec: { suspend: true } } as BulkExport },
      'queue',
    ],
  ])('%s', (_name, changes, expected) => expect(outcomeOf(changes)).toBe(expected));

  it('leaves the worker that has it before it while the export is suspended, once', () => {
    const bulkExport = { spec: { suspend: true } } as BulkExport;
    const suspended = { run: aRun(0), job: aJob(), bulkExport };
    const isTakenOut = (more: Partial<ExportRunWorld>): unknown =>
      decideRun(world({ ...suspended, ...more }));
    const queue = { kind: 'queue', behind: 'export' };
    expect(isTakenOut({ progress: undefined })).toEqual({ ...queue, isTakenOut: true });
    expect(isTakenOut({ progress: progress(0, 'held') })).toEqual(queue);
    expect(isTakenOut({ progress: progress(1, 'running') })).toEqual({ kind: 'watch' });
  });

  it.each([
    ['takes places of the platform while others take none', 3, 3, 0, 0, 'start 1'],
    ['leaves half of them to others', 4, 4, 0, 0, 'queue'],
    ['has one when others hold theirs', 6, 0, 0, 0, 'start 1'],
    ['waits when all are taken', 8, 0, 0, 0, 'queue'],
    ['waits while the free places are for workspaces whose turn comes first', 6, 0, 2, 0, 'queue'],
    ['takes what they leave', 5, 0, 2, 0, 'start 1'],
    ['waits while the free place is for another export of its workspace', 3, 3, 0, 2, 'queue'],
  ])('%s', (_name, all, ofWorkspace, ahead, exportsAhead, expected) => {
    const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentRuns: 8 };
    const waiting = { run: aRun(0), limits, job: undefined, progress: undefined };
    expect(outcomeOf({ ...waiting, atWork: { all, ofWorkspace, ahead, exportsAhead } })).toBe(expected);
  });

  it.each([
    [
      'a place of the platform',
      { all: 8, ofWorkspace: 0, ahead: 1, exportsAhead: 0 },
      'AwaitingPlace',
      /position 2 of the workspaces/,
    ],
    [
      'another export of its workspace',
      { all: 6, ofWorkspace: 1, ahead: 0, exportsAhead: 1 },
      'AwaitingPlace',
      /other exports of it come first/,
    ],
    [
      'runs of its export',
      { all: 0, ofWorkspace: 0, ahead: 0, exportsAhead: 0 },
      'Queued',
      /behind other runs of the export/,
    ],
  ])('reports that it waits for %s', (_what, atWork, reason, message) => {
    const place = reason === 'Queued' ? 45 : 0;
    const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentRuns: 8 };
    const observed = world({ run: aRun(0), limits, job: undefined, progress: undefined, atWork, place });
    for (const { type, ...condition } of summarizeRun(observed, decideRun(observed)).conditions ?? [])
      expect([type, condition]).toEqual([
        type,
        expect.objectContaining({ status: 'False', reason, message: expect.stringMatching(message) }),
      ]);
  });

  it('starts runs in the order of their days', () => {
    const limits = { ...DEFAULT_EXPORT_LIMITS, concurrentRunsPerExport: 2 };
    const waiting = { run: aRun(0), limits, job: undefined, progress: undefined };
    expect([1, 2].map((place) => outcomeOf({ ...waiting, place }))).toEqual(['start 1', 'queue']);
  });
});

describe('summarizeRun', () => {
  function summary(changes: Partial<ExportRunWorld>): ReturnType<typeof summarizeRun> {
    const observed = world(changes);
    return summarizeRun(observed, decideRun(observed));
  }

  it('computes progress from the cursor', () => {
    const cursor = { startTime: BigInt(Date.parse('2026-05-02T06:00:00Z')) * 1000n, id: 'x' };
    expect(summary({ progress: progress(1, 'running', { cursor }) })).toMatchObject({
      percent: 50,
      rows: 7,
      bytes: 70,
      files: 1,
    });
  });

  it('counts rows that are being written, but no percent of them', () => {
    const intent = { part: 1, key: 'k', soFar: { rows: 3, bytes: 30, startTime: '2026-05-02T09:00:00Z' } };
    expect(summary({ progress: progress(1, 'running', { intent }) })).toMatchObject({
      percent: 0,
      rows: 10,
      bytes: 100,
    });
  });

  it('does not go back while a file is completed, nor when an attempt begins it anew', () => {
    const startTime = '2026-05-02T09:00:00Z';
    const whole = { part: 1, key: 'k', rows: 4, bytes: 40, upTo: { startTime, id: 'x', traceId: 't' } };
    expect(summary({ progress: progress(1, 'running', { intent: whole }) })).toMatchObject({
      percent: 0,
      rows: 11,
      bytes: 110,
    });
    const before = aRun(2);
    const run = { ...before, status: { ...before.status, percent: 75, rows: 11, bytes: 110 } };
    for (const anew of [progress(2, 'running'), progress(1, 'failed'), undefined])
      expect(summary({ run, progress: anew })).toMatchObject({ percent: 75, rows: 11, bytes: 110 });
  });

  it('says of a cancelled run what is in the bucket', () => {
    const before = aRun(1);
    const run = { ...before, status: { ...before.status, percent: 75, rows: 11, bytes: 110, files: 1 } };
    const cancelled = { metadata: { name: 'x' }, spec: { cancel: true } } as BulkExport;
    expect(summary({ run, bulkExport: cancelled })).toMatchObject({ rows: 7, bytes: 70, files: 1 });
    expect(summary({ run, bulkExport: cancelled, progress: undefined })).toMatchObject({ rows: 0, bytes: 0 });
  });

  it('keeps the message of each failed attempt in the words of the interface', () => {
    const { errors, conditions } = summary({
      job: aJob({ secondsAgo: 5 }),
      progress: progress(1, 'failed', { error: '503 from the store' }),
    });
    expect(errors).toEqual({ retry_0: '503 from the store' });
    for (const type of ['Running', 'Ready'])
      expect(conditions?.find((one) => one.type === type)).toMatchObject({
        status: 'True',
        reason: 'Retrying',
        message: 'attempt 1 of 21 failed, another follows: 503 from the store',
      });
  });

  it('reports the failure of the last attempt while the next one begins and is at work', () => {
    const message = 'attempt 2 of 21 is in progress; attempt 1 failed: 503 from the store';
    const failed = {
      job: aJob({ secondsAgo: 500 }),
      progress: progress(1, 'failed', { error: '503 from the store' }),
    };
    const before = aRun(2);
    const run = { ...before, status: { ...before.status, errors: { retry_0: '503 from the store' } } };
    for (const changes of [failed, { run, progress: progress(2, 'running') }])
      expect(summary(changes).conditions?.find(({ type }) => type === 'Running')).toMatchObject({
        status: 'True',
        reason: 'Retrying',
        message,
      });
  });

  it.each<[string, object | undefined, string]>([
    [
      'the signal that killed its worker',
      { containerStatuses: [terminated({ exitCode: 137, signal: 9 })] },
      'the worker was killed by SIGKILL (exit code 137, memory limit 512Mi)',
    ],
    [
      'the signal, where the node knows the exit code only',
      { containerStatuses: [terminated({ exitCode: 139 })] },
      'the worker was killed by SIGSEGV (exit code 139, memory limit 512Mi)',
    ],
    [
      'a worker that ran out of memory',
      { containerStatuses: [terminated({ exitCode: 137, reason: 'OOMKilled' })] },
      'the worker ran out of memory (exit code 137, memory limit 512Mi)',
    ],
    [
      'an exit code without a word',
      { containerStatuses: [terminated({ exitCode: 3 })] },
      'the worker ended with exit code 3 without reporting an error',
    ],
    [
      'an evicted pod',
      { reason: 'Evicted', message: 'disk pressure' },
      'the pod of the worker ended: Evicted: disk pressure',
    ],
    ['the word of its Job without a pod', undefined, 'BackoffLimitExceeded'],
  ])('reports %s', (_what, status, expected) => {
    const spec = { containers: [{ resources: { limits: { memory: '512Mi' } } }] };
    const pods = status ? [{ spec, status } as unknown as Pod] : [];
    const { errors } = summary({ job: aJob({ secondsAgo: 5 }), pods, progress: progress(1, 'running') });
    expect(errors).toEqual({ retry_0: expected });
  });

  it.each([
    ['no failure', { kind: 'fail', reason: 'TimedOut', message: 'x' }, undefined],
    ['a failure', { kind: 'pause', message: 'x', ms: 1 }, { retry_0: 'the Job of the attempt was deleted' }],
  ] as const)('counts %s for a deleted Job, by what is decided', (_name, decision, expected) => {
    expect(summarizeRun(world({ job: undefined }), decision).errors).toEqual(expected);
  });

  it('reports the time limit of an attempt', () => {
    const job = aJob({ secondsAgo: 5 });
    const [condition] = job.status?.conditions ?? [];
    const late = {
      ...job,
      status: { conditions: [{ ...condition, reason: 'DeadlineExceeded' }] },
    } as unknown as Job;
    expect(summary({ job: late, progress: progress(1, 'running') }).errors).toEqual({
      retry_0: 'the attempt took longer than 4 h',
    });
  });

  it('reports 100 percent and Ready when a run is complete', () => {
    const status = summary({ progress: progress(1, 'completed') });
    expect(status.percent).toBe(100);
    expect(status.conditions?.map(({ type, status: value }) => [type, value])).toEqual([
      ['Running', 'False'],
      ['Completed', 'True'],
      ['Ready', 'True'],
    ]);
  });
});
