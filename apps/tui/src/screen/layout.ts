import { displayWidth, oneLine } from '../render/fit.js';
import type { Column } from '../views/view.js';

/** Columns between two cells. */
export const CELL_GAP = 2;
const WIDEST = 60;
const LEAST_NAME = 16;
const LEAST_LAST = 6;

export interface PlacedColumn {
  readonly column: Column;
  readonly width: number;
}

export interface Placement {
  readonly placed: readonly PlacedColumn[];
  /** Columns that did not fit at the right. */
  readonly beyond: number;
}

/** Widths that columns have had on the screen; they grow and do not shrink, so that nothing jumps. */
export class WidthMemory {
  readonly #widths = new Map<string, number>();

  /** Takes in cells of rows that are about to be shown. */
  note(columns: readonly Column[], cells: readonly (readonly string[])[]): void {
    for (const [at, { heading }] of columns.entries()) {
      let width = Math.max(this.#widths.get(heading) ?? 0, heading.length + 1);
      for (const row of cells) width = Math.max(width, displayWidth(oneLine(row[at] ?? '')));
      this.#widths.set(heading, Math.min(WIDEST, width));
    }
  }

  widthOf(heading: string): number {
    return this.#widths.get(heading) ?? heading.length;
  }
}

/**
 * Places columns from the left. The first shrinks down to 16 columns, `shift` of those behind the `fixed`
 * ones are left out, the last one that does not fit is cut, and the columns beyond are counted.
 */
export function placeColumns(
  columns: readonly Column[],
  widths: WidthMemory,
  screen: {
    readonly width: number;
    readonly shift: number;
    readonly fixed: number;
    /** Further columns, which are placed where the others leave space for all of their text. */
    readonly spare?: readonly Column[];
  },
): Placement {
  const { width, shift, fixed, spare = [] } = screen;
  const shown = [...columns.slice(0, fixed), ...columns.slice(fixed + shift)];
  const natural = shown.map(({ heading }) => widths.widthOf(heading));
  const total = natural.reduce((sum, one) => sum + one + CELL_GAP, -CELL_GAP);
  const [first = 0] = natural;
  natural[0] = Math.min(first, Math.max(LEAST_NAME, first - Math.max(0, total - width)));
  const placed: PlacedColumn[] = [];
  let left = width;
  for (const [at, column] of shown.entries()) {
    const wanted = natural[at] ?? 0;
    const given = Math.min(wanted, left);
    if (given < Math.min(wanted, LEAST_LAST)) break;
    placed.push({ column, width: given });
    left -= given + CELL_GAP;
  }
  const beyond = shown.length - placed.length;
  for (const column of beyond === 0 ? spare : []) {
    const wanted = widths.widthOf(column.heading);
    if (wanted > left) break;
    placed.push({ column, width: wanted });
    left -= wanted + CELL_GAP;
  }
  return { placed, beyond };
}
