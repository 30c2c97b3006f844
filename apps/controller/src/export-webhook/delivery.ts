import { webhookState } from '#lib/export-plan';
import { ANNOTATION, type BulkExport, isDeleting } from '#lib/resources';
import { isFinished, isSchedule } from '../bulk-export/export-phase.js';

/** Open deliveries of a workspace: each holds its export in the API server for a day at most. */
const MAX_OPEN = 200;

/** True when an export has a webhook that was neither delivered nor given up. Schedules call nothing. */
export function isOpen(bulkExport: BulkExport): boolean {
  return (
    bulkExport.spec.webhook !== undefined && !isSchedule(bulkExport) && webhookState(bulkExport) === 'PENDING'
  );
}

/** The ended exports of a workspace whose webhooks are more than are kept open, oldest first. */
export function beyondOpen(siblings: readonly BulkExport[], maxOpen = MAX_OPEN): readonly BulkExport[] {
  const open = siblings.filter((one) => isFinished(one) && isOpen(one) && !isDeleting(one));
  const beyond = open.length - maxOpen;
  if (beyond <= 0) return [];
  const endedAt = ({ status }: BulkExport): string => status?.finishedAt ?? '';
  return open
    .sort((a, b) => endedAt(a).localeCompare(endedAt(b)) || a.metadata.name.localeCompare(b.metadata.name))
    .slice(0, beyond);
}

/**
 * True when an export has to stay for a webhook: its own is open, or it owns the Secret of one that another
 * export names, which its deletion would take along. Only the owner is checked: hourly exports of one
 * schedule name one Secret, and some of them are unfinished at every time.
 */
export function isHeld(bulkExport: BulkExport, siblings: readonly BulkExport[]): boolean {
  if (isOpen(bulkExport)) return true;
  const secret = bulkExport.metadata.annotations?.[ANNOTATION.webhookSecret];
  return (
    secret !== undefined &&
    siblings.some(
      (other) =>
        other.metadata.uid !== bulkExport.metadata.uid &&
        other.spec.webhook?.secretRef?.name === secret &&
        (!isFinished(other) || isOpen(other)),
    )
  );
}
