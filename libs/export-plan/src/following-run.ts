import type { BulkExportRun, BulkExportRunSpec } from '#lib/resources';

/**
 * A run that a worker takes in turn after the one its Job is named after, always as attempt 1: what of its spec is its
 * own, the rest is that of the first.
 */
export interface FollowingRun extends Pick<
  BulkExportRunSpec,
  'startTime' | 'endTime' | 'predecessorUid' | 'lateOfUid'
> {
  readonly runUid: string;
}

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
