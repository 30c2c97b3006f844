import { isOlder, isQueued } from '#lib/export-plan';
import type { Change, Reader } from '#lib/kube';
import { type BulkExport, keyOf, type ObjectKey } from '#lib/resources';
import { hasBegun, isFinished } from './export-phase.js';

/**
 * True when the queue of a workspace may advance: an export has ended, or the first that waited has begun, or
 * waits for something else now. Exports in the queue do not poll.
 */
export function movesQueue(change: Change<BulkExport>): boolean {
  if (change.kind !== 'changed') return change.kind === 'deleted';
  const { before, object } = change;
  return (
    (isFinished(object) && !isFinished(before)) ||
    (hasBegun(object) && !hasBegun(before)) ||
    (isQueued(before) && !isQueued(object))
  );
}

/** The export of the workspace that comes next: the first of those that wait for others to end. */
export function nextExport(
  { metadata: { namespace } }: BulkExport,
  exports: Pick<Reader<BulkExport>, 'list'>,
): readonly ObjectKey[] {
  let first: BulkExport | undefined;
  for (const one of exports.list(namespace))
    if (isQueued(one) && (!first || isOlder(one, first))) first = one;
  return first ? [keyOf(first)] : [];
}
