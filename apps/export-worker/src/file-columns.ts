import type { FormatVersion } from '#lib/export-plan';
import type { ParquetColumn } from '#lib/parquet';
import type { BulkExportRunSpec } from '#lib/resources';
import type { ExportColumn, ExportResource } from '#lib/trace-store';

/**
 * Columns of a file, in the one order that every export has.
 * @param columns columns of each tuple, in that order
 * @param wanted names of the columns to write; all when absent
 */
export function fileColumns(
  columns: readonly ExportColumn[],
  format: FormatVersion,
  wanted: readonly string[] | undefined,
): readonly ParquetColumn[] {
  return columns.flatMap(({ name, fileType, nullable, dictionary, statistics, payload }, field) =>
    !isWanted(name, wanted)
      ? []
      : [{ name, type: fileType[format], nullable, field, dictionary, statistics, longPages: payload }],
  );
}

/** True when a column is written; those of the cursor are read for every export. */
export function isWanted(name: string, wanted: readonly string[] | undefined): boolean {
  return wanted?.includes(name) ?? true;
}

/** The order in which rows are read. */
export const SORTED_BY: readonly string[] = Object.freeze(['start_time', 'id', 'trace_id']);

/**
 * Metadata of a file beside its rows: the export, the window, and the columns that hold JSON, whose type is
 * that of text because some readers refuse more.
 */
export function fileMetadata(
  spec: BulkExportRunSpec,
  resource: ExportResource,
  columns: readonly ExportColumn[],
  wanted: readonly string[] | undefined,
): Readonly<Record<string, string>> {
  const json = columns.filter(({ name, isJson }) => isJson && isWanted(name, wanted));
  return {
    'agentplane.export_id': spec.exportId,
    'agentplane.tenant_id': spec.tenantId,
    'agentplane.session_id': spec.projectId,
    'agentplane.resource': resource,
    'agentplane.start_time': spec.startTime,
    'agentplane.end_time': spec.endTime,
    'agentplane.format_version': spec.formatVersion,
    'agentplane.json_columns': json.map(({ name }) => name).join(','),
  };
}
