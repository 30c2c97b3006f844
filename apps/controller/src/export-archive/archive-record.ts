import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  exportWireStatus,
  idOf,
  type KubeObject,
} from '#lib/resources';
import type { ArchivedExport, ArchivedRun } from '#lib/trace-store';

const OURS: ReadonlySet<string> = new Set(Object.values(ANNOTATION));

/** What REST renders of a resource. Annotations of others may be as large as they like, and nothing shows them again. */
function stored({ metadata, ...object }: KubeObject): string {
  const { name, namespace, uid, creationTimestamp, generation, annotations = {} } = metadata;
  const own = Object.entries(annotations).filter(([key]) => OURS.has(key));
  return JSON.stringify({
    ...object,
    metadata: { name, namespace, uid, creationTimestamp, generation, annotations: Object.fromEntries(own) },
  });
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
