import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  exportWireStatus,
  idOf,
  type KubeObject,
} from '#lib/resources';
import type { ArchivedExport, ArchivedRun } from '#lib/trace-store';

/** What REST renders of a resource, without what only the API server needs. */
function stored(object: KubeObject): string {
  const {
    managedFields: _,
    finalizers: _finalizers,
    ...metadata
  } = object.metadata as typeof object.metadata & {
    readonly managedFields?: unknown;
  };
  return JSON.stringify({ ...object, metadata });
}

/** An export as it goes to the archive. */
export function archivedExport(
  bulkExport: BulkExport,
  destination: BulkExportDestination | undefined,
): ArchivedExport {
  const { metadata, spec, status } = bulkExport;
  const source = spec.sourceExport;
  return {
    id: idOf(bulkExport) ?? '',
    name: metadata.name,
    createdAt: metadata.creationTimestamp ?? '',
    status: exportWireStatus(bulkExport),
    destinationId: destination && idOf(destination),
    projectId: status?.tracingProjectId ?? spec.tracingProject.id,
    sourceId: source?.id,
    windowEnd: source && source.runRequestId === undefined ? spec.endTime : undefined,
    object: stored(bulkExport),
  };
}

export function archivedRun(run: BulkExportRun): ArchivedRun {
  return {
    id: idOf(run) ?? '',
    uid: run.metadata.uid ?? '',
    startTime: run.spec.startTime,
    object: stored(run),
  };
}
