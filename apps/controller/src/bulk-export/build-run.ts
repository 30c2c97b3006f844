import type { Partition } from '#lib/export-plan';
import {
  API_VERSION,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type BulkExportRunSpec,
  exportRunName,
  FINALIZER,
  idOf,
  LABEL,
  type Workspace,
} from '#lib/resources';
import { formatInstant } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { isFinished } from './export-phase.js';

/**
 * Asks whether an id belongs to an export of the workspace that was moved to the archive: a manifest that is applied
 * again would else take what was answered for another export. One that has ended may be in both places for a moment.
 */
export function archivedId(
  archive: Pick<TraceStore['exportArchive'], 'find'>,
  workspace: Workspace | undefined,
  bulkExport: BulkExport,
): ((id: string) => Promise<boolean>) | undefined {
  if (!workspace || isFinished(bulkExport)) return undefined;
  const tenantId = workspace.spec.tenantId.toLowerCase();
  return async (id) => (await archive.find(tenantId, id)) !== undefined;
}

/**
 * Copy of the destination that an export uses from its begin, even when the destination changes or is
 * deleted.
 */
export function destinationSnapshot({ spec }: BulkExportDestination): BulkExportRunSpec['destination'] {
  const { credentialsSecretRef, config } = spec;
  return { config, ...(credentialsSecretRef ? { credentialsSecretName: credentialsSecretRef.name } : {}) };
}

/** A run with everything that its worker needs; its finalizer is set from the first moment. */
export function buildExportRun(
  bulkExport: BulkExport,
  destination: BulkExportRunSpec['destination'],
  identity: Pick<
    BulkExportRunSpec,
    'tenantId' | 'projectId' | 'predecessorUid' | 'lateOfUid' | 'exportWindow'
  >,
  partition: Partition,
): Omit<BulkExportRun, 'status'> {
  const { metadata, spec } = bulkExport;
  return {
    apiVersion: API_VERSION,
    kind: 'BulkExportRun',
    metadata: {
      name: exportRunName(metadata.name, new Date(Number(partition.start / 1000n))),
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels: { [LABEL.export]: metadata.name },
      finalizers: [FINALIZER.exportRun],
    },
    spec: {
      exportName: metadata.name,
      exportId: idOf(bulkExport) ?? '',
      ...identity,
      startTime: formatInstant(partition.start, 'if-any'),
      endTime: formatInstant(partition.end, 'if-any'),
      destination,
      format: spec.format,
      formatVersion: spec.formatVersion,
      compression: spec.compression,
      ...(spec.table === undefined ? {} : { table: spec.table }),
      ...(spec.pageBytes === undefined ? {} : { pageBytes: spec.pageBytes }),
      ...(spec.exportFields ? { exportFields: spec.exportFields } : {}),
      ...(spec.resources ? { resources: spec.resources } : {}),
      ...(spec.filter === undefined ? {} : { filter: spec.filter }),
    },
  };
}
