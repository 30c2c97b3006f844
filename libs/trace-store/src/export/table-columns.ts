import type { FormatVersion } from '#lib/export-plan';
import { elementId, type IcebergColumn, type IcebergType } from '#lib/iceberg';
import type { ColumnType, ParquetColumn } from '#lib/parquet';
import type { ExportColumn } from './export-columns.js';
import type { ExportResource } from './export-progress.js';

/**
 * Names of the columns in the order in which they came: the place is the id of a column in tables, so names are only ever
 * added at the end.
 */
const FIELDS: Readonly<Record<ExportResource, readonly string[]>> = {
  runs: (
    'id tenant_id session_id trace_id parent_run_id parent_run_ids reference_example_id name run_type start_time ' +
    'end_time status is_root dotted_order trace_tier tags total_tokens prompt_tokens completion_tokens total_cost ' +
    'prompt_cost completion_cost first_token_time error feedback_stats events extra inputs outputs serialized'
  ).split(' '),
  feedback: (
    'id tenant_id session_id trace_id run_id start_time key score value comment correction feedback_source ' +
    'feedback_config extra error extend_trace_retention comparative_experiment_id feedback_group_id created_at modified_at'
  ).split(' '),
};

const TYPE: Readonly<Record<ColumnType, IcebergType>> = {
  uuid: 'string',
  text: 'string',
  'uuid-list-as-text': 'string',
  'text-list-as-text': 'string',
  timestamp: 'timestamptz',
  bool: 'boolean',
  int64: 'long',
  decimal: 'decimal(18, 10)',
  double: 'double',
  'uuid-list': 'list',
  'text-list': 'list',
};

/** Id of a column in tables; 0 for one that tables do not have. */
function fieldIdOf(resource: ExportResource, name: string): number {
  return FIELDS[resource].indexOf(name) + 1;
}

/** The column of a file with its ids in tables, if tables have it. */
export function withIds(resource: ExportResource, column: ParquetColumn): ParquetColumn {
  const fieldId = fieldIdOf(resource, column.name);
  return fieldId === 0 ? column : { ...column, ids: { column: fieldId, element: elementId({ fieldId }) } };
}

/** Columns of a table over files that have these columns. */
export function tableColumns(
  columns: readonly ExportColumn[],
  resource: ExportResource,
  format: FormatVersion,
): readonly IcebergColumn[] {
  return columns.flatMap(({ name, nullable, fileType }) => {
    const fieldId = fieldIdOf(resource, name);
    return fieldId === 0 ? [] : [{ name, type: TYPE[fileType[format]], nullable, fieldId }];
  });
}
