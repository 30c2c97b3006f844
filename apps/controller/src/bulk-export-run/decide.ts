import {
  type AttemptEnd,
  decideNextAttempt,
  type ExportLimits,
  isExportOverdue,
  overdueText,
  renderLimit,
  takeForMs,
} from '#lib/export-plan';
import {
  type BulkExport,
  type BulkExportRun,
  type Condition,
  CONDITION,
  exportJobName,
  findCondition,
  type Job,
  type Pod,
  REASON,
} from '#lib/resources';
import type { ExportProgressRecord } from '#lib/trace-store';
import { isFinished } from '../bulk-export/export-phase.js';
import { isJobFinished, type JobCondition, jobCondition } from '../ended-jobs.js';

/** Everything that one BulkExportRun depends on, read in one go. */
export interface ExportRunWorld {
  readonly run: BulkExportRun;
  /** The one that made the run; undefined when it was deleted, even if another export has its name now. */
  readonly bulkExport: BulkExport | undefined;
  /** Number of unfinished runs of the export that begin before this one. */
  readonly place: number;
  /** Runs that have begun and not ended, of all exports, and who waits for their places. */
  readonly atWork: {
    readonly all: number;
    readonly ofWorkspace: number;
    /** Number of other waiting workspaces that come first. */
    readonly ahead: number;
    /** Number of other waiting exports of the workspace that come first. */
    readonly exportsAhead: number;
  };
  /** The Job of the attempt in work; of the first one also the Job whose worker takes the run after others. */
  readonly job: Job | undefined;
  /** Its pods, once the Job has ended: they say how. */
  readonly pods: readonly Pod[];
  /** Progress that workers recorded; undefined before the first claim. */
  readonly progress: ExportProgressRecord | undefined;
  /** The database's clock. */
  readonly now: Date;
  readonly limits: ExportLimits;
}

/**
 * Number of the newest attempt, 0 before the first. A run that follows others in a worker is claimed by it, as attempt 1,
 * before the status says so.
 */
export function attemptOf({ run, progress }: Pick<ExportRunWorld, 'run' | 'progress'>): number {
  return Math.max(run.status?.attempt ?? 0, progress?.attempt ?? 0);
}

/**
 * The Job of the attempt in work. A worker that has the run after others does not count before it has claimed
 * the run: the start of an attempt, which the status names first, may have been cut short while such a worker
 * runs, or has ended.
 */
function jobOfAttempt({ run, progress, job }: ExportRunWorld): Job | undefined {
  const isOwn = job?.metadata.name === exportJobName(run.metadata.uid ?? '', attemptOf({ run, progress }));
  return isOwn || (progress?.attempt ?? 0) > 0 ? job : undefined;
}

/** The worker's words for: trying again cannot help (sysexits' EX_DATAERR and EX_USAGE). */
const FINAL_EXITS = new Map([
  [65, 'DestinationRefused'],
  [64, 'RunRefused'],
] as const);

function refusalOf({ pods }: ExportRunWorld) {
  const codes = pods.flatMap(({ status }) =>
    (status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.exitCode),
  );
  return [...FINAL_EXITS].find(([code]) => codes.includes(code))?.[1];
}

const SIGNALS: Readonly<Record<number, string>> = {
  6: 'SIGABRT',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  15: 'SIGTERM',
};

/**
 * Termination message that the node reports for a worker that could not report itself; undefined without one.
 */
function terminationText({ pods }: ExportRunWorld): string | undefined {
  for (const { spec, status } of pods) {
    const ended = (status?.containerStatuses ?? []).find(({ state }) => state?.terminated)?.state?.terminated;
    if (!ended) {
      if (status?.reason !== undefined) return `the pod of the worker ended: ${reasonText(status)}`;
      continue;
    }
    const { exitCode, reason } = ended;
    const signal = ended.signal ?? (exitCode > 128 ? exitCode - 128 : undefined);
    const limit = spec.containers[0]?.resources?.limits?.['memory'];
    const memory = limit === undefined ? 'no memory limit' : `memory limit ${limit}`;
    if (reason === 'OOMKilled') return `the worker ran out of memory (exit code ${exitCode}, ${memory})`;
    if (signal === undefined) return `the worker ended with exit code ${exitCode} without reporting an error`;
    const by = SIGNALS[signal] ?? `signal ${signal}`;
    return `the worker was killed by ${by} (exit code ${exitCode}, ${memory})`;
  }
  return undefined;
}

function reasonText({ reason = '', message }: NonNullable<Pod['status']>): string {
  return message === undefined ? reason : `${reason}: ${message}`;
}

/** The deadline of the Job is the time limit of the attempt, and kills its worker too. */
function causeOf(world: ExportRunWorld, failed: JobCondition): string | undefined {
  if (failed.reason !== 'DeadlineExceeded') return terminationText(world) ?? failed.message;
  return `the attempt took longer than ${renderLimit(world.limits.runTimeoutMs)}`;
}

/**
 * End of the newest attempt; undefined while it runs or has not begun. The worker's record in the database
 * counts more than the end of its process: a worker killed after its last write has succeeded.
 */
export function findAttemptEnd(world: ExportRunWorld): AttemptEnd | undefined {
  const { progress, now } = world;
  const attempt = attemptOf(world);
  if (attempt === 0) return undefined;
  const isClaimed = progress?.attempt === attempt;
  if (progress?.state === 'completed') return { kind: 'succeeded' };
  // a Job that is complete by its exit code alone has recorded no exported row
  const job = jobOfAttempt(world);
  const failed = jobCondition(job, 'Failed') ?? jobCondition(job, 'Complete');
  const said = isClaimed ? progress.error : undefined;
  if (failed) {
    const message = said ?? causeOf(world, failed) ?? 'the worker ended without reporting an error';
    const reason = refusalOf(world);
    if (reason) return { kind: 'terminal', reason, message };
    return { kind: 'failed', message, endedAtMs: Date.parse(failed.lastTransitionTime ?? now.toISOString()) };
  }
  // the Job was deleted, and its worker stopped with it
  if (!job && isClaimed)
    return {
      kind: 'failed',
      message: said ?? 'the Job of the attempt was deleted',
      endedAtMs: progress.updatedAt.getTime(),
    };
  return undefined;
}

/** Next step for a run. */
export type RunDecision =
  | { readonly kind: 'finished' }
  /**
   * The run waits. It wakes when a run of its export ends, when the machine has capacity, which is polled, or
   * by its worker.
   */
  | { readonly kind: 'queue'; readonly behind: 'worker' }
  | {
      readonly kind: 'queue';
      readonly behind: 'export';
      /** A worker has it before it, and must not begin it. */
      readonly isTakenOut?: true;
    }
  | {
      readonly kind: 'queue';
      readonly behind: 'platform';
      readonly ahead: number;
      readonly exportsAhead: number;
    }
  /** The status names this attempt, then its Secret and Job are made. */
  | { readonly kind: 'start'; readonly attempt: number }
  /** The attempt that the status names should have a Job and has none yet. */
  | { readonly kind: 'ensureJob' }
  /** The attempt is running: copy its progress. */
  | { readonly kind: 'watch' }
  /** The attempt failed; the next one begins in a while. */
  | { readonly kind: 'pause'; readonly message: string; readonly ms: number }
  /** An attempt should begin and cannot, until a person does something. */
  | { readonly kind: 'block'; readonly reason: string; readonly message: string }
  | { readonly kind: 'complete' }
  | { readonly kind: 'fail'; readonly reason: string; readonly message: string };

function decideStop({ bulkExport, limits, now }: ExportRunWorld): RunDecision | undefined {
  if (!bulkExport || bulkExport.spec.cancel)
    return { kind: 'fail', reason: REASON.cancelled, message: 'the export was cancelled' };
  const failed = findCondition(bulkExport.status?.conditions, CONDITION.failed);
  if (failed?.status === 'True') return endWithExport(failed);
  const startedAt = bulkExport.status?.startedAt;
  if (startedAt !== undefined && isExportOverdue(Date.parse(startedAt), now.getTime(), limits))
    return { kind: 'fail', reason: REASON.timedOut, message: overdueText(limits) };
  return undefined;
}

/** Reasons of an export that are those of each of its runs too. */
const SHARED_REASONS: ReadonlySet<string> = new Set([REASON.timedOut, REASON.destinationDeleted]);

/** One run that failed for good fails the export; files of the others would never be used. */
function endWithExport({ reason, message }: Condition): RunDecision {
  if (SHARED_REASONS.has(reason)) return { kind: 'fail', reason, message };
  return { kind: 'fail', reason: REASON.cancelled, message: `the export failed: ${message}` };
}

const FAILURE_REASON = {
  DestinationRefused: REASON.storageFailed,
  RunRefused: REASON.runRefused,
  RetriesExhausted: REASON.attemptFailed,
} as const;

function decideAfterEnd(world: ExportRunWorld, attempt: number): RunDecision | undefined {
  const end = findAttemptEnd(world);
  if (!end) return undefined;
  const next = decideNextAttempt(attempt, end, world.now.getTime(), world.limits);
  switch (next.kind) {
    case 'complete':
      return { kind: 'complete' };
    case 'fail':
      return {
        kind: 'fail',
        reason: FAILURE_REASON[next.cause],
        message: next.message,
      };
    case 'retry':
      if (next.afterMs > 0 && end.kind === 'failed')
        return { kind: 'pause', message: end.message, ms: next.afterMs };
      return { kind: 'start', attempt: next.attempt };
    default:
      return next satisfies never;
  }
}

/**
 * Decision for a start without credentials: those that the export began with are missing, or not allowed any
 * more.
 */
export function blockedByCredentials(problem: string): RunDecision {
  const message = `${problem}; or cancel the export`;
  return { kind: 'block', reason: REASON.credentialsMissing, message };
}

/** Decision for a run that should adopt the result of an export that is not known any more. */
export const PREDECESSOR_GONE: RunDecision = {
  kind: 'fail',
  reason: REASON.predecessorMissing,
  message:
    'what the export that is continued had finished was removed before this run adopted it; make a new export',
};

/** Decision for a run of late rows when no record tells what the run of its day has read. */
export const MARK_GONE: RunDecision = {
  kind: 'fail',
  reason: REASON.lateRunsUnknown,
  message:
    'nothing says what the run of this day in the export of spec.lateRunsOf has read: it was deleted, or made by an earlier version or in another database; make a new export of the window',
};

const SHUT_OUT: RunDecision = {
  kind: 'fail',
  reason: REASON.cancelled,
  message: 'the run was cancelled in the database',
};

/**
 * One workspace alone may use half of the platform's places, the next one half of the rest: one is always
 * left. Each workspace that is ahead has its place kept, and so has each other export of the workspace: an
 * export of thousands of days leaves capacity for one of an hour.
 */
function hasRoom({ atWork, limits: { concurrentRuns } }: ExportRunWorld): boolean {
  const { all, ofWorkspace, ahead, exportsAhead } = atWork;
  const taken = all + ofWorkspace + ahead + exportsAhead;
  return concurrentRuns === undefined || taken < Math.max(1, concurrentRuns);
}

/** A worker that is started late, or reads the time a moment later. */
const TAKES_LATE_MS = 60_000;

/**
 * True when a worker may still reach the run. A worker that is held up by the run in work begins no further
 * one.
 */
function mayTake(job: Job, { now, limits }: ExportRunWorld): boolean {
  if (isJobFinished(job)) return false;
  const startedMs = Date.parse(job.status?.startTime ?? job.metadata.creationTimestamp ?? '');
  const takesUntilMs = startedMs + takeForMs(limits.runTimeoutMs) + TAKES_LATE_MS;
  return Number.isNaN(startedMs) || now.getTime() < takesUntilMs;
}

/** Decides a run. Pure: the same world gives the same answer. */
export function decideRun(world: ExportRunWorld): RunDecision {
  const { run, bulkExport, place, limits, job, progress } = world;
  if (isFinished(run)) return { kind: 'finished' };
  const attempt = attemptOf(world);
  // a run whose data is already complete in the bucket is completed, even when it should stop
  const stop = progress?.state === 'completed' ? undefined : decideStop(world);
  if (stop) return stop;
  if (attempt === 0) {
    if (progress?.state === 'cancelled') return SHUT_OUT;
    // one that was held back is no worker's until it begins anew
    if (job && progress?.state !== 'held' && mayTake(job, world))
      return bulkExport?.spec.suspend
        ? { kind: 'queue', behind: 'export', isTakenOut: true }
        : { kind: 'queue', behind: 'worker' };
    if (bulkExport?.spec.suspend || place >= limits.concurrentRunsPerExport)
      return { kind: 'queue', behind: 'export' };
    if (hasRoom(world)) return { kind: 'start', attempt: 1 };
    const { ahead, exportsAhead } = world.atWork;
    return { kind: 'queue', behind: 'platform', ahead, exportsAhead };
  }
  const next: RunDecision = decideAfterEnd(world, attempt) ?? {
    kind: jobOfAttempt(world) ? 'watch' : 'ensureJob',
  };
  // shut out before a crash, or by another leader: no attempt could write anything any more
  return progress?.state === 'cancelled' && next.kind !== 'fail' ? SHUT_OUT : next;
}
