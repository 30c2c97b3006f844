import type { Change, Reader } from '#lib/kube';
import { type BulkExport, type BulkExportRun, keyOf, type ObjectKey } from '#lib/resources';
import { isFinished } from '../bulk-export/export-phase.js';

/** True when a change was the end of an export or a run. */
export function hasEnded(change: Change<BulkExport> | Change<BulkExportRun>): boolean {
  if (change.kind === 'deleted') return true;
  return change.kind === 'changed' && isFinished(change.object) && !isFinished(change.before);
}

/** The run that may take the place of one that has ended: the first of its export that waits, and for no worker that has it. */
export function nextInLine(
  run: BulkExportRun,
  exports: Pick<Reader<BulkExport>, 'find'>,
  runs: Pick<Reader<BulkExportRun>, 'ownedBy'>,
  isTaken: (run: BulkExportRun) => boolean,
): readonly ObjectKey[] {
  const { namespace = '' } = run.metadata;
  const bulkExport = exports.find({ namespace, name: run.spec.exportName });
  if (!bulkExport) return [];
  const waiting = runs
    .ownedBy(bulkExport)
    .filter((one) => !isFinished(one) && (one.status?.attempt ?? 0) === 0 && !isTaken(one))
    .sort((a, b) => a.spec.startTime.localeCompare(b.spec.startTime));
  return waiting.slice(0, 1).map((one) => keyOf(one));
}
