import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  exportWireStatus,
  idOf,
  isDeleting,
  isFinishedExport,
} from '#lib/resources';

/** Users that a sentence names; of more it has the number. */
const NAMED = 5;

/**
 * Names the exports and schedules that have not ended and use a destination; undefined without any.
 * @param exports of the destination's workspace
 */
export function destinationUse(
  { metadata: { name } }: Pick<BulkExportDestination, 'metadata'>,
  exports: readonly BulkExport[],
): string | undefined {
  const users = exports.filter(
    (one) =>
      one.spec.destinationRef.name === name && !isDeleting(one) && !isFinishedExport(exportWireStatus(one)),
  );
  if (users.length === 0) return undefined;
  const named = users
    .map((one) => `${isSchedule(one) ? 'schedule' : 'export'} ${one.metadata.name} (${idOf(one) ?? ''})`)
    .sort()
    .slice(0, NAMED);
  const more = users.length > named.length ? `, and ${users.length - named.length} more` : '';
  return `BulkExportDestination ${name} is used by ${named.join(', ')}${more}`;
}

/** Tells whether exports to a destination stop, because it is deleted although they use it. */
export function isDeletedByForce({ metadata }: Pick<BulkExportDestination, 'metadata'>): boolean {
  return (
    metadata.deletionTimestamp !== undefined && metadata.annotations?.[ANNOTATION.forceDeletion] === 'true'
  );
}

function isSchedule({ spec }: BulkExport): boolean {
  return spec.intervalHours !== undefined;
}
