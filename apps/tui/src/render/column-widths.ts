/** Columns between two cells. */
export const CELL_GAP = 2;

export interface ColumnWish {
  /** Columns that everything in it would take. */
  readonly natural: number;
  /** Columns that it can do with. */
  readonly least: number;
}

/**
 * Widths of a table's columns. When the screen is too narrow for all, columns give way in the order of `yielding`, each
 * down to its least; what is still too much is cut off at the edge of the screen.
 * @param yielding positions of columns
 */
export function columnWidths(
  columns: readonly ColumnWish[],
  width: number,
  yielding: readonly number[],
): number[] {
  const widths = columns.map(({ natural }) => natural);
  const gaps = CELL_GAP * (columns.length - 1);
  let excess = widths.reduce((sum, one) => sum + one, gaps) - width;
  for (const at of yielding) {
    const give = Math.max(0, Math.min(excess, (widths[at] ?? 0) - (columns[at]?.least ?? 0)));
    widths[at] = (widths[at] ?? 0) - give;
    excess -= give;
  }
  return widths;
}
