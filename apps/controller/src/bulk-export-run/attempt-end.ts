import { type AttemptEnd, renderLimit } from '#lib/export-plan';
import type { Pod } from '#lib/resources';
import { type JobCondition, jobCondition } from '../ended-jobs.js';
import { attemptOf, type ExportRunWorld, jobOfAttempt } from './world.js';

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
