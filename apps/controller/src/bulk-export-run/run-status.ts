import type { Informer } from '#lib/kube';
import { type ReadyRule, summarizeReady } from '#lib/reconcile';
import {
  type BulkExportRun,
  type BulkExportRunStatus,
  type Condition,
  CONDITION,
  type ConditionDraft,
  type ConditionDrafts,
  findCondition,
  REASON,
  setCondition,
  updateConditions,
} from '#lib/resources';
import { metrics } from '#lib/telemetry';
import { type Clock, parseInstant, systemClock } from '#lib/time';
import { writtenSoFar } from '#lib/trace-store';
import { isFinished, placeAwaited } from '../bulk-export/export-phase.js';
import { attemptOf, type ExportRunWorld, findAttemptEnd, type RunDecision } from './decide.js';

/** Counts what a pass decided; to be called when the status that says so was written, which happens once. */
export function countDecision(
  decision: RunDecision,
  { run, progress }: Pick<ExportRunWorld, 'run' | 'progress'>,
): void {
  // claimed by a worker that had taken others before
  const isClaimed = (run.status?.attempt ?? 0) === 0 && attemptOf({ run, progress }) > 0;
  if (isClaimed) metrics.exportAttempts.add(1, { kind: 'first' });
  switch (decision.kind) {
    case 'start':
      return metrics.exportAttempts.add(1, { kind: decision.attempt > 1 ? 'retry' : 'first' });
    case 'complete':
      metrics.exportRows.add(progress?.rows ?? 0);
      metrics.exportBytes.add(progress?.bytes ?? 0);
      return metrics.exportRuns.add(1, { outcome: 'completed' });
    case 'fail':
      return metrics.exportRuns.add(1, { outcome: 'failed' });
    case 'queue':
    case 'ensureJob':
    case 'watch':
    case 'pause':
    case 'block':
    case 'finished':
      return;
    default:
      decision satisfies never;
  }
}

/** Lets a scrape read how old the oldest export run is that has not ended. */
export function readExportLag(
  runs: Pick<Informer<BulkExportRun>, 'list'>,
  clock: Clock = systemClock,
): () => void {
  return metrics.exportLag.read(() => {
    const nowMs = clock.now().getTime();
    const ages = runs
      .list()
      .filter((run) => !isFinished(run))
      .map(({ metadata }) => nowMs - Date.parse(metadata.creationTimestamp ?? ''));
    return Math.max(0, ...ages.filter((age) => !Number.isNaN(age))) / 1000;
  });
}

const COMPLETED = { status: 'True', reason: REASON.completed, message: 'every row is exported' } as const;
const NEEDS: Pick<ReadyRule, 'needs' | 'failures'> = {
  needs: [CONDITION.running],
  failures: [CONDITION.failed],
};
const READY_AT_LAST: ReadyRule = { needs: [CONDITION.completed], ...COMPLETED };

function queuedText(
  { bulkExport }: ExportRunWorld,
  decision: RunDecision & { readonly kind: 'queue' },
): string {
  switch (decision.behind) {
    case 'export':
      return bulkExport?.spec.suspend
        ? 'queued: the export is suspended'
        : 'queued behind other runs of the export';
    case 'worker':
      return 'queued: a worker takes this run after others, which have few rows too';
    case 'platform': {
      const turn =
        decision.ahead === 0
          ? decision.exportsAhead === 0
            ? 'this workspace is next'
            : 'this workspace is next, other exports of it come first'
          : `position ${decision.ahead + 1} of the workspaces that wait`;
      return `queued: the platform has as many export runs at work as it may, or this workspace its share of them; ${turn}`;
    }
    default:
      return decision satisfies never;
  }
}

type Draft = Omit<ConditionDraft, 'type'>;

/** Attempts that a run may have, the first included. */
function attemptsOf({ limits }: ExportRunWorld): number {
  return limits.retries + 1;
}

/**
 * Condition of an attempt in work. A retry is named as one until it ends, so that it is not taken for the
 * first attempt.
 */
function attemptDraft(world: ExportRunWorld, attempt: number): Draft {
  const failed = attempt > 1 ? lastError(world, attempt) : undefined;
  if (failed === undefined) return { status: 'True', reason: REASON.started, message: `attempt ${attempt}` };
  return {
    status: 'True',
    reason: REASON.retrying,
    message: `attempt ${attempt} of ${attemptsOf(world)} is in progress; attempt ${failed.attempt} failed: ${failed.message}`,
  };
}

/** The newest failure before an attempt. */
function lastError(
  world: ExportRunWorld,
  attempt: number,
): { readonly attempt: number; readonly message: string } | undefined {
  const end = findAttemptEnd(world);
  // an attempt that begins without a pause, in the pass that finds the end of the former one
  if (end?.kind === 'failed' && attemptOf(world) < attempt)
    return { attempt: attemptOf(world), message: end.message };
  for (let before = attempt - 1; before > 0; before--) {
    const message = world.run.status?.errors?.[`retry_${before - 1}`];
    if (message !== undefined) return { attempt: before, message };
  }
  return undefined;
}

function runningDraft(world: ExportRunWorld, decision: RunDecision): Draft | undefined {
  const attempt = attemptOf(world);
  switch (decision.kind) {
    case 'queue': {
      // a worker that comes to it within moments is no news to a person
      const awaited = decision.behind === 'worker' ? placeAwaited(world.run) : undefined;
      if (awaited !== undefined) return { status: 'False', reason: REASON.awaitingPlace, message: awaited };
      return {
        status: 'False',
        // the others wait for runs of their own export, which is at work then
        reason: decision.behind === 'platform' ? REASON.awaitingPlace : REASON.queued,
        message: queuedText(world, decision),
      };
    }
    case 'start':
      return attemptDraft(world, decision.attempt);
    case 'pause':
      return {
        status: 'True',
        reason: REASON.retrying,
        message: `attempt ${attempt} of ${attemptsOf(world)} failed, another follows: ${decision.message}`,
      };
    case 'block':
      return { status: 'False', reason: decision.reason, message: decision.message };
    case 'watch':
    case 'ensureJob':
      return attemptDraft(world, attempt);
    case 'complete':
      return { status: 'False', reason: REASON.completed, message: 'every row is exported' };
    case 'fail':
      return { status: 'False', reason: decision.reason, message: decision.message };
    case 'finished':
      return undefined;
    default:
      return decision satisfies never;
  }
}

function conditionsOf(world: ExportRunWorld, decision: RunDecision): readonly Condition[] {
  const { metadata, status } = world.run;
  const drafts: ConditionDrafts = {
    [CONDITION.running]: runningDraft(world, decision),
    [CONDITION.completed]: decision.kind === 'complete' ? COMPLETED : undefined,
    [CONDITION.failed]:
      decision.kind === 'fail'
        ? { status: 'True', reason: decision.reason, message: decision.message }
        : undefined,
  };
  const conditions = updateConditions(status?.conditions, drafts, metadata.generation, world.now);
  const running = findCondition(conditions, CONDITION.running);
  const rule =
    decision.kind === 'complete'
      ? READY_AT_LAST
      : { ...NEEDS, ...(running && { reason: running.reason, message: running.message }) };
  return setCondition(conditions, summarizeReady(conditions, rule, metadata.generation), world.now);
}

/**
 * The place of the newest row of a finished file in the partition, since the rows are not counted beforehand: what an
 * attempt holds that fails is in no bucket. Never goes back.
 */
function percentOf({ run, progress }: ExportRunWorld, isComplete: boolean): number {
  if (isComplete) return 100;
  const before = run.status?.percent ?? 0;
  const start = parseInstant(run.spec.startTime, { zone: 'required' }) ?? 0n;
  const end = parseInstant(run.spec.endTime, { zone: 'required' }) ?? 0n;
  const reached = progress?.cursor?.startTime;
  if (reached === undefined || end <= start) return before;
  return Math.max(before, Math.min(99, Number(((reached - start) * 100n) / (end - start))));
}

/** Rows of feedback in the bucket, for a run that exports feedback. */
function feedbackRows({ run, progress }: ExportRunWorld): Pick<BulkExportRunStatus, 'feedbackRows'> {
  if (!run.spec.resources?.includes('feedback')) return {};
  return { feedbackRows: progress?.feedbackRows ?? run.status?.feedbackRows ?? 0 };
}

/**
 * Rows and bytes written so far, which never decrease when an attempt begins a file anew. A run that has
 * ended counts only what is in the bucket.
 */
function written({ run, progress }: ExportRunWorld, isEnding: boolean): { rows: number; bytes: number } {
  const { rows = 0, bytes = 0 } = run.status ?? {};
  if (isEnding) return { rows: progress?.rows ?? 0, bytes: progress?.bytes ?? 0 };
  const soFar = progress && writtenSoFar(progress);
  return { rows: Math.max(rows, soFar?.rows ?? 0), bytes: Math.max(bytes, soFar?.bytes ?? 0) };
}

/** Reasons that a run shares with its export: they are no failure of an attempt. */
const STOPS: ReadonlySet<string> = new Set([REASON.cancelled, REASON.timedOut, REASON.destinationDeleted]);

/** The message of each failed attempt, in the words of the interface: `retry_0` is the first. */
function errorsOf(
  world: ExportRunWorld,
  decision: RunDecision,
): Readonly<Record<string, string>> | undefined {
  const before = world.run.status?.errors;
  // another run of the worker was stopped first, and its Job with it
  const isStopped = decision.kind === 'fail' && STOPS.has(decision.reason);
  if (isStopped && !world.job && world.progress?.error === undefined) return before;
  const attempt = attemptOf(world);
  const end = findAttemptEnd(world);
  if (!end || end.kind === 'succeeded') return before;
  return { ...before, [`retry_${attempt - 1}`]: end.message.slice(0, 1000) };
}

/** The whole status of a run after a decision. */
export function summarizeRun(world: ExportRunWorld, decision: RunDecision): BulkExportRunStatus {
  const { run, progress, now } = world;
  const before = run.status ?? {};
  const isComplete = decision.kind === 'complete';
  const isEnding = isComplete || decision.kind === 'fail';
  const errors = errorsOf(world, decision);
  const hasBegun = decision.kind === 'start' || attemptOf(world) > 0;
  const startedAt = before.startedAt ?? (hasBegun ? now.toISOString() : undefined);
  const finishedAt = before.finishedAt ?? (isEnding ? now.toISOString() : undefined);
  return {
    observedGeneration: run.metadata.generation ?? 1,
    conditions: conditionsOf(world, decision),
    attempt: decision.kind === 'start' ? decision.attempt : attemptOf(world),
    ...written(world, isEnding),
    ...feedbackRows(world),
    files: progress?.files ?? (isEnding ? 0 : (before.files ?? 0)),
    percent: percentOf(world, isComplete),
    ...(errors ? { errors } : {}),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  };
}
