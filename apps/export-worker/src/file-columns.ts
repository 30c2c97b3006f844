import type { FormatVersion } from '#lib/export-plan';
import type { ColumnType, ParquetColumn } from '#lib/parquet';
import type { ExportColumn } from '#lib/trace-store';

/** Few distinct values in a row group, most of the time. */
const REPEATING = new Set(['tenant_id', 'session_id', 'name', 'run_type', 'status', 'trace_tier', 'tags']);
/** Too long, or of a kind nobody looks for by range. */
const WITHOUT_STATISTICS = new Set(['error', 'dotted_order', 'is_root', 'parent_run_ids', 'tags']);

function typeOf({ type, json }: ExportColumn, format: FormatVersion): ColumnType {
  const isTyped = format === 'v2_beta';
  switch (type) {
    case 'uuid':
      return 'uuid';
    case 'uuid[]':
      return isTyped ? 'uuid-list' : 'uuid-list-as-text';
    case 'text':
      return json && isTyped ? 'json' : 'text';
    case 'text[]':
      return isTyped ? 'text-list' : 'text-list-as-text';
    case 'timestamptz':
      return 'timestamp';
    case 'bool':
      return 'bool';
    case 'int8':
      return 'int64';
    case 'numeric':
      return 'decimal';
    default:
      return type satisfies never;
  }
}

/**
 * Columns of a file, in the one order that every export has.
 * @param columns what each tuple holds, in that order
 * @param wanted names of the columns to write; all when absent
 */
export function fileColumns(
  columns: readonly ExportColumn[],
  format: FormatVersion,
  wanted: readonly string[] | undefined,
): readonly ParquetColumn[] {
  return columns.flatMap((column, field) =>
    wanted && !wanted.includes(column.name)
      ? []
      : [
          {
            name: column.name,
            type: typeOf(column, format),
            nullable: column.nullable,
            field,
            dictionary: REPEATING.has(column.name),
            statistics: !column.json && !WITHOUT_STATISTICS.has(column.name),
          },
        ],
  );
}
