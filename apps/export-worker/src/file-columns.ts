import type { FormatVersion } from '#lib/export-plan';
import type { ParquetColumn } from '#lib/parquet';
import type { ExportColumn } from '#lib/trace-store';

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
  return columns.flatMap(({ name, fileType, nullable, dictionary, statistics }, field) =>
    wanted && !wanted.includes(name)
      ? []
      : [{ name, type: fileType[format], nullable, field, dictionary, statistics }],
  );
}
