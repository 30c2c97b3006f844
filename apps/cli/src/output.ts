import { stringify } from 'yaml';
import type { OutputFormat } from './output-format.js';

/** A list in the wished format; the table's columns are as wide as their longest cell. */
export function printTable<T>(
  format: OutputFormat,
  items: readonly T[],
  columns: readonly string[],
  rowOf: (item: T) => readonly string[],
): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(items, undefined, 2)}\n`;
    case 'yaml':
      return stringify(items);
    case 'table': {
      const rows = [columns, ...items.map(rowOf)];
      const widths = columns.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
      return rows
        .map((row) =>
          row
            .map((cell, at) => cell.padEnd(widths[at] ?? 0))
            .join('  ')
            .trimEnd(),
        )
        .join('\n')
        .concat('\n');
    }
    default:
      return format satisfies never;
  }
}
