import type { AttemptEnd } from '#lib/export-plan';
import type { Job } from '#lib/resources';
import type { ExportRunWorld } from './world.js';

/** The worker's words for: trying again cannot help (sysexits' EX_DATAERR and EX_USAGE). */
const FINAL_EXITS = new Map([
  [65, 'DestinationRefused'],
  [64, 'RunRefused'],
] as const);

function jobCondition(job: Job | undefined, type: string) {
  return job?.status?.conditions?.find((one) => one.type === type && one.status === 'True');
}

/** Whether a Job has come to its end, however: none of its pods runs or will. */
export function isJobFinished(job: Job): boolean {
  return jobCondition(job, 'Complete') !== undefined || jobCondition(job, 'Failed') !== undefined;
}

function refusalOf({ pods }: ExportRunWorld) {
  const codes = pods.flatMap(({ status }) =>
    (status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.exitCode),
  );
  return [...FINAL_EXITS].find(([code]) => codes.includes(code))?.[1];
}

/**
 * How the attempt that the status names ended; undefined while it goes on or has not begun. What the worker wrote into
 * the database counts more than what became of its process: a worker killed after its last write has succeeded.
 */
export function findAttemptEnd(world: ExportRunWorld): AttemptEnd | undefined {
  const { run, progress, now } = world;
  const attempt = run.status?.attempt ?? 0;
  if (attempt === 0) return undefined;
  const isClaimed = progress?.attempt === attempt;
  if (progress?.state === 'completed') return { kind: 'succeeded' };
  // a Job that is complete by its exit code alone has recorded no exported row
  const failed = jobCondition(world.job, 'Failed') ?? jobCondition(world.job, 'Complete');
  const said = isClaimed ? progress.error : undefined;
  if (failed) {
    const message = said ?? failed.message ?? 'the worker ended without reporting an error';
    const reason = refusalOf(world);
    if (reason) return { kind: 'terminal', reason, message };
    return { kind: 'failed', message, endedAtMs: Date.parse(failed.lastTransitionTime ?? now.toISOString()) };
  }
  // the Job was deleted, and its worker stopped with it
  if (!world.job && isClaimed)
    return {
      kind: 'failed',
      message: said ?? 'the Job of the attempt was deleted',
      endedAtMs: progress.updatedAt.getTime(),
    };
  return undefined;
}
