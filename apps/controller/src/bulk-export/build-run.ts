import { formatInstant, type Partition } from '#lib/export-plan';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  exportRunName,
  FINALIZER,
  idOf,
  LABEL,
} from '#lib/resources';

/** A run with everything that its worker needs; its finalizer is there from the first moment. */
export function buildExportRun(
  bulkExport: BulkExport,
  destination: BulkExportDestination,
  identity: { readonly tenantId: string; readonly projectId: string },
  partition: Partition,
): Omit<BulkExportRun, 'status'> {
  const { metadata, spec } = bulkExport;
  const { credentialsSecretRef, config } = destination.spec;
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
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
      startTime: formatInstant(partition.start),
      endTime: formatInstant(partition.end),
      destination: {
        config,
        ...(credentialsSecretRef ? { credentialsSecretName: credentialsSecretRef.name } : {}),
      },
      formatVersion: spec.formatVersion,
      compression: spec.compression,
      ...(spec.exportFields ? { exportFields: spec.exportFields } : {}),
      ...(spec.filter === undefined ? {} : { filter: spec.filter }),
    },
  };
}
