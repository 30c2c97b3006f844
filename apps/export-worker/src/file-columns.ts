import type { FormatVersion } from '#lib/export-plan';
import { elementId } from '#lib/iceberg';
import type { ParquetColumn } from '#lib/parquet';
import type { BulkExportRunSpec } from '#lib/resources';
import type { ExportColumn, ExportResource } from '#lib/trace-store';

/**
 * Names of the columns in the order in which they came: the place is the id of a column in tables, so names are only ever
 * added at the end.
 */
const FIELDS: Readonly<Record<ExportResource, readonly string[]>> = {
  runs: (
    'id tenant_id session_id trace_id parent_run_id parent_run_ids reference_example_id name run_type start_time ' +
    'end_time status is_root dotted_order trace_tier tags total_tokens prompt_tokens completion_tokens total_cost ' +
    'prompt_cost completion_cost first_token_time error feedback_stats events extra inputs outputs'
  ).split(' '),
  feedback: (
    'id tenant_id session_id trace_id run_id start_time key score value comment correction feedback_source ' +
    'feedback_config extra error extend_trace_retention comparative_experiment_id feedback_group_id created_at modified_at'
  ).split(' '),
};

/** Ids of a column in tables; undefined for one that tables do not have. */
export function fieldIds(resource: ExportResource, name: string): ParquetColumn['ids'] {
  const fieldId = FIELDS[resource].indexOf(name) + 1;
  return fieldId === 0 ? undefined : { column: fieldId, element: elementId({ fieldId }) };
}

/**
 * Columns of a file, in the one order that every export has.
 * @param columns columns of each tuple, in that order
 * @param wanted names of the columns to write; all when absent
 */
export function fileColumns(
  columns: readonly ExportColumn[],
  resource: ExportResource,
  format: FormatVersion,
  wanted: readonly string[] | undefined,
): readonly ParquetColumn[] {
  return columns.flatMap(({ name, fileType, nullable, dictionary, statistics, payload }, field) => {
    if (!isWanted(name, wanted)) return [];
    const ids = fieldIds(resource, name);
    const column = {
      name,
      type: fileType[format],
      nullable,
      field,
      dictionary,
      statistics,
      longPages: payload,
    };
    return [ids ? { ...column, ids } : column];
  });
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
