import type { AttemptEnd } from '#lib/export-plan';
import type { Job } from '#lib/resources';
import type { ExportRunWorld } from './world.js';

/** The worker's word for: trying again cannot help (sysexits' EX_DATAERR). */
const EXIT_TERMINAL = 65;

function jobCondition(job: Job | undefined, type: string) {
  return job?.status?.conditions?.find((one) => one.type === type && one.status === 'True');
}

/** Whether a Job has come to its end, however: none of its pods runs or will. */
export function isJobFinished(job: Job): boolean {
  return jobCondition(job, 'Complete') !== undefined || jobCondition(job, 'Failed') !== undefined;
}

function exitCodes({ pods }: ExportRunWorld): number[] {
  return pods.flatMap(({ status }) =>
    (status?.containerStatuses ?? []).flatMap(({ state }) =>
      state?.terminated ? [state.terminated.exitCode] : [],
    ),
  );
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
  const failed = jobCondition(world.job, 'Failed');
  const said = isClaimed ? progress.error : undefined;
  if (failed) {
    const message = said ?? failed.message ?? 'the worker ended without a word';
    if (exitCodes(world).includes(EXIT_TERMINAL)) return { kind: 'terminal', message };
    return { kind: 'failed', message, endedAtMs: Date.parse(failed.lastTransitionTime ?? now.toISOString()) };
  }
  // a Job that somebody deleted: its worker was stopped with it
  if (!world.job && isClaimed)
    return {
      kind: 'failed',
      message: said ?? 'the Job of the attempt is gone',
      endedAtMs: progress.updatedAt.getTime(),
    };
  return undefined;
}
