import { type BulkExport, CONDITION, findCondition, isConditionTrue, REASON } from '#lib/resources';

/** True when the one export was made before the other; within a second the name decides. */
export function isOlder(one: BulkExport, other: BulkExport): boolean {
  const [a, b] = [one.metadata.creationTimestamp ?? '', other.metadata.creationTimestamp ?? ''];
  return a < b || (a === b && one.metadata.name < other.metadata.name);
}

/** True when an export waits for others of its workspace to end. */
export function isQueued({ status }: Pick<BulkExport, 'status'>): boolean {
  const conditions = status?.conditions;
  return (
    findCondition(conditions, CONDITION.accepted)?.reason === REASON.queued &&
    (status?.runs?.total ?? 0) === 0 &&
    !hasEnded(conditions)
  );
}

function hasEnded(conditions: Parameters<typeof isConditionTrue>[0]): boolean {
  return isConditionTrue(conditions, CONDITION.completed) || isConditionTrue(conditions, CONDITION.failed);
}

/**
 * Positions of the queued exports of a workspace, from 1, by name. Computed on request: noted in each status,
 * every end of an export would be a write for each that waits.
 */
export function queuePositions(ofWorkspace: readonly BulkExport[]): ReadonlyMap<string, number> {
  const queued = ofWorkspace.filter(isQueued).sort((a, b) => (isOlder(a, b) ? -1 : 1));
  return new Map(queued.map(({ metadata }, at) => [metadata.name, at + 1]));
}
