import type { BulkExportRun, BulkExportRunSpec } from '#lib/resources';

/**
 * A run that a worker takes after the one its Job is named after, always as attempt 1: the part of its spec
 * that is its own; the rest is that of the first.
 */
export interface FollowingRun extends Pick<
  BulkExportRunSpec,
  'startTime' | 'endTime' | 'predecessorUid' | 'lateOfUid'
> {
  readonly runUid: string;
}

const TAKE_FOR_MS = 600_000;

/**
 * Time after its start within which a worker begins further runs: the last one has nearly all of the time of
 * an attempt.
 */
export function takeForMs(runTimeoutMs: number): number {
  return Math.min(TAKE_FOR_MS, Math.floor(runTimeoutMs / 8));
}

/** Facts about a run that a worker takes after its own. */
export function followingRun({ metadata: { uid = '' }, spec }: BulkExportRun): FollowingRun {
  const { startTime, endTime, predecessorUid, lateOfUid } = spec;
  return {
    runUid: uid,
    startTime,
    endTime,
    ...(predecessorUid === undefined ? {} : { predecessorUid }),
    ...(lateOfUid === undefined ? {} : { lateOfUid }),
  };
}

/** The whole spec of a run that follows another one of its export. */
export function specOfFollowing(first: BulkExportRunSpec, following: FollowingRun): BulkExportRunSpec {
  const { startTime, endTime, predecessorUid, lateOfUid } = following;
  const { predecessorUid: _former, lateOfUid: _late, ...shared } = first;
  return {
    ...shared,
    startTime,
    endTime,
    ...(predecessorUid === undefined ? {} : { predecessorUid }),
    ...(lateOfUid === undefined ? {} : { lateOfUid }),
  };
}
