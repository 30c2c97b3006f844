import { decideNextAttempt, isExportOverdue, overdueText, takeForMs } from '#lib/export-plan';
import { type Condition, CONDITION, findCondition, type Job, REASON } from '#lib/resources';
import { isFinished } from '../bulk-export/export-phase.js';
import { isJobFinished } from '../ended-jobs.js';
import { findAttemptEnd } from './attempt-end.js';
import { attemptOf, type ExportRunWorld, jobOfAttempt } from './world.js';

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
