import { findCondition, type Job, type JobSpec, type Pod, type WorkloadCondition } from '#lib/resources';
import type { PodCount } from './count-pods.js';

/** The condition that says how a job ended, if it has. */
export function finishedCondition(job: Job): WorkloadCondition | undefined {
  const conditions = job.status?.conditions;
  const ends = [findCondition(conditions, 'Complete'), findCondition(conditions, 'Failed')];
  return ends.find((condition) => condition?.status === 'True');
}

/** The condition with the coming end of a job, set while its last pods end. */
function endingCondition(job: Job): WorkloadCondition | undefined {
  const conditions = job.status?.conditions;
  const ends = [findCondition(conditions, 'SuccessCriteriaMet'), findCondition(conditions, 'FailureTarget')];
  return ends.find((condition) => condition?.status === 'True');
}

/** Reason why a job ends. */
export interface JobEnd {
  readonly result: 'complete' | 'failed';
  readonly reason: string;
  readonly message: string;
}

/** Decision of a pass over a job that has not ended. */
export type JobDecision =
  | { readonly kind: 'none'; readonly afterMs?: number }
  /** Delete what still runs; the ending is written now, the end itself once no pod is left and all are counted. */
  | {
      readonly kind: 'end';
      readonly end: JobEnd;
      readonly deletePods: readonly Pod[];
      readonly isOver: boolean;
    }
  | { readonly kind: 'suspend'; readonly deletePods: readonly Pod[] }
  | { readonly kind: 'create'; readonly count: number }
  | { readonly kind: 'delete'; readonly pods: readonly Pod[] };

const FIRST_BACKOFF_MS = 10_000;
const MAX_BACKOFF_MS = 600_000;

export function decideJob(job: Job, count: PodCount, pods: readonly Pod[], now: Date): JobDecision {
  if (job.metadata.deletionTimestamp !== undefined) return { kind: 'none' };
  const end = decideEnd(job, count, pods, now);
  if (end) {
    const isCounted = count.uncounted.succeeded.length + count.uncounted.failed.length === 0;
    const isOver = count.active.length === 0 && count.terminating === 0 && isCounted;
    return { kind: 'end', end, deletePods: count.active, isOver };
  }
  if (job.spec.suspend) return { kind: 'suspend', deletePods: count.active };
  return decidePods(job, count, pods, now);
}

function decideEnd(job: Job, count: PodCount, pods: readonly Pod[], now: Date): JobEnd | undefined {
  const ending = endingCondition(job);
  if (ending) {
    const result = ending.type === 'SuccessCriteriaMet' ? 'complete' : 'failed';
    return { result, reason: ending.reason ?? '', message: ending.message ?? '' };
  }
  const { spec } = job;
  if (count.verdict !== undefined)
    return { result: 'failed', reason: 'PodFailurePolicy', message: count.verdict };
  if (allFailed(count) > (spec.backoffLimit ?? 6) || hasRestartedTooOften(job, pods))
    return {
      result: 'failed',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    };
  const deadlineMs = deadlineOf(job);
  if (deadlineMs !== undefined && !spec.suspend && deadlineMs <= now.getTime())
    return {
      result: 'failed',
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    };
  return isComplete(job, count)
    ? {
        result: 'complete',
        reason: 'CompletionsReached',
        message: 'Reached expected number of succeeded pods',
      }
    : undefined;
}

/**
 * True when the number of completions is reached; without such a number, when one pod succeeded and none runs
 * any more.
 */
function isComplete({ spec }: Job, count: PodCount): boolean {
  const succeeded = allSucceeded(count);
  const completions = completionsOf(spec);
  return completions === undefined ? succeeded > 0 && count.active.length === 0 : succeeded >= completions;
}

/** One when neither it nor the parallelism is said, as the API server would fill in. */
function completionsOf({ completions, parallelism }: JobSpec): number | undefined {
  return completions ?? (parallelism === undefined ? 1 : undefined);
}

function decidePods(job: Job, count: PodCount, pods: readonly Pod[], now: Date): JobDecision {
  const wanted = wantedActive(job, count);
  const missing = wanted - count.active.length;
  if (missing < 0)
    return { kind: 'delete', pods: count.active.toSorted(leastAdvancedFirst).slice(0, -missing) };
  if (missing === 0) return untilDeadline(job, now);
  // a pod that is being deleted still counts as running, where the job asks for it
  const held = job.spec.podReplacementPolicy === 'Failed' ? count.terminating : 0;
  if (missing - held <= 0) return untilDeadline(job, now);
  const backoffMs = backoffUntilMs(count, pods) - now.getTime();
  if (backoffMs > 0) return { kind: 'none', afterMs: backoffMs };
  return { kind: 'create', count: Math.min(missing - held, 500) };
}

function wantedActive({ spec }: Job, count: PodCount): number {
  const parallelism = spec.parallelism ?? 1;
  const succeeded = allSucceeded(count);
  const completions = completionsOf(spec);
  if (completions === undefined) return succeeded > 0 ? count.active.length : parallelism;
  return Math.min(parallelism, Math.max(0, completions - succeeded));
}

function allSucceeded(count: PodCount): number {
  return count.succeeded + count.uncounted.succeeded.length;
}

function allFailed(count: PodCount): number {
  return count.failed + count.uncounted.failed.length;
}

/**
 * True when restarts exceed the limit: with `restartPolicy: OnFailure` containers restart in place, and their
 * restarts count.
 */
function hasRestartedTooOften({ spec }: Job, pods: readonly Pod[]): boolean {
  if (spec.template.spec.restartPolicy !== 'OnFailure') return false;
  const restarts = pods
    .filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending')
    .flatMap(({ status }) => [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  const limit = spec.backoffLimit ?? 6;
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** 10 s after the last failure, doubled for each failure since the last success, at most 10 minutes. */
function backoffUntilMs(count: PodCount, pods: readonly Pod[]): number {
  const lastSuccessMs = Math.max(
    0,
    ...pods.filter(({ status }) => status?.phase === 'Succeeded').map(finishedAtMs),
  );
  const failures = pods
    .filter(({ status }) => status?.phase === 'Failed')
    .map(finishedAtMs)
    .filter((atMs) => atMs > lastSuccessMs);
  const inARow = lastSuccessMs === 0 ? Math.max(failures.length, allFailed(count)) : failures.length;
  if (inARow === 0 || failures.length === 0) return 0;
  return Math.max(...failures) + Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (Math.min(inARow, 16) - 1));
}

function finishedAtMs({ status, metadata }: Pod): number {
  const times = (status?.containerStatuses ?? []).map(({ state }) =>
    Date.parse(state?.terminated?.finishedAt ?? ''),
  );
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length > 0
    ? Math.max(...known)
    : Date.parse(metadata.deletionTimestamp ?? metadata.creationTimestamp ?? '') || 0;
}

/** End of the job's time, in milliseconds since the epoch. */
export function deadlineOf(job: Job): number | undefined {
  const { activeDeadlineSeconds } = job.spec;
  const startMs = Date.parse(job.status?.startTime ?? '');
  if (activeDeadlineSeconds === undefined || Number.isNaN(startMs)) return undefined;
  return startMs + activeDeadlineSeconds * 1000;
}

function untilDeadline(job: Job, now: Date): JobDecision {
  const deadlineMs = deadlineOf(job);
  return deadlineMs === undefined ? { kind: 'none' } : { kind: 'none', afterMs: deadlineMs - now.getTime() };
}

function leastAdvancedFirst(a: Pod, b: Pod): number {
  const rank = ({ spec, status }: Pod): number =>
    (spec.nodeName ? 1 : 0) + (status?.phase === 'Running' ? 1 : 0);
  return rank(a) - rank(b);
}
