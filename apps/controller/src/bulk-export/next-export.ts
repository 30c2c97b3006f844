import type { Change, Reader } from '#lib/kube';
import { type BulkExport, CONDITION, findCondition, keyOf, type ObjectKey, REASON } from '#lib/resources';
import { hasBegun, isFinished, isOlder } from './export-phase.js';

/** Whether the queue of a workspace may go on: an export has ended, or the first that waited has begun. */
export function movesQueue(change: Change<BulkExport>): boolean {
  if (change.kind !== 'changed') return change.kind === 'deleted';
  const { before, object } = change;
  return (isFinished(object) && !isFinished(before)) || (hasBegun(object) && !hasBegun(before));
}

/** The export of the workspace that comes next: the first of those that wait for others to end. */
export function nextExport(
  { metadata: { namespace } }: BulkExport,
  exports: Pick<Reader<BulkExport>, 'list'>,
): readonly ObjectKey[] {
  const [first] = exports
    .list(namespace)
    .filter(isQueued)
    .sort((a, b) => (isOlder(a, b) ? -1 : 1));
  return first ? [keyOf(first)] : [];
}

function isQueued(bulkExport: BulkExport): boolean {
  const accepted = findCondition(bulkExport.status?.conditions, CONDITION.accepted);
  return accepted?.reason === REASON.queued && !hasBegun(bulkExport) && !isFinished(bulkExport);
}
