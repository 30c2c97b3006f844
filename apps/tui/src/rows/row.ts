import type { State } from './tone.js';

/** One line of a table: what it is called, how it is, and the cells behind that. */
export interface Row {
  readonly key: string;
  /** 0 for a resource, 1 for what belongs to the one above it. */
  readonly depth: 0 | 1;
  /** Key of the resource that opens and closes with this row: its own, or that of the row it belongs to. */
  readonly root: string;
  /** Whether no more of the same depth follow under the same parent; draws the tree. */
  readonly last: boolean;
  readonly name: string;
  readonly state: State;
  readonly cells: readonly string[];
  /** Rows below it that are not shown because it is closed. */
  readonly hidden: number;
}

/** A row before it has its place in the tree. */
export type Line = Pick<Row, 'key' | 'name' | 'state' | 'cells'>;

/** How rows are shown. */
export interface RowOptions {
  /** Whether the rows below a resource are shown, which has a default of its own. */
  readonly isOpen: (key: string, byDefault: boolean) => boolean;
  /** Names with their namespaces. */
  readonly qualified: boolean;
  /** Columns that a progress bar takes; 0 for the percentage alone. */
  readonly barWidth: number;
}

/** Everything open and no pictures: for output that nobody can open things in, and that programs read. */
export const ALL_OPEN: RowOptions = { isOpen: () => true, qualified: false, barWidth: 0 };

/** A resource with the rows below it, or their number when it is closed. */
export function treeOf(parent: Line, children: readonly Line[], isOpen: boolean): Row[] {
  const root = parent.key;
  const hidden = isOpen ? 0 : children.length;
  const below = isOpen ? children : [];
  return [
    { ...parent, root, depth: 0, last: false, hidden },
    ...below.map((child, at): Row => ({
      ...child,
      root,
      depth: 1,
      last: at === below.length - 1,
      hidden: 0,
    })),
  ];
}

/** A resource's name as it is shown. */
export function shownName(
  { name, namespace = '' }: { readonly name: string; readonly namespace?: string },
  { qualified }: RowOptions,
): string {
  return qualified ? `${namespace}/${name}` : name;
}
