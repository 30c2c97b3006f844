import { visibleText } from './visible-text.js';

/** kubectl's columns are never narrower. */
const NARROWEST = 3;

/** Rows under their headings; columns are as wide as their longest cell. */
export function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows].map((row) => row.map(cellText));
  const widths = headings.map((_, at) => Math.max(NARROWEST, ...lines.map((row) => (row[at] ?? '').length)));
  return lines
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('   ')
        .trimEnd()
        .concat('\n'),
    )
    .join('');
}

/** Text in one line: a cell must not pass for another row. */
export function cellText(cell: string): string {
  const lines = visibleText(cell).split('\n');
  return lines.length === 1
    ? lines.join('')
    : lines
        .map((line) => line.trim())
        .filter((line) => line !== '')
        .join(' ');
}
