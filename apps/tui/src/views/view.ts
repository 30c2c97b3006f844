import type { PodChoice } from '#lib/pod-logs';
import type { ShownState } from '#lib/resources';
import type { ProgressMemory } from '../rows/progress-memory.js';
import type { Rank } from '../rows/ordered-rows.js';
import type { Item, Source } from '../world/items.js';
import type { RowAction } from './common-actions.js';

/** A function of one row; a view of one type of items serves wherever a view of any items does. */
export type OfItem<T, R> = { of(item: T): R }['of'];

/** Dependencies of cells. */
export interface Look {
  readonly now: Date;
  readonly nowMs: number;
  readonly progress: ProgressMemory;
  /** Columns that a progress bar takes. */
  readonly barWidth: number;
}

export interface Column<T extends Item = Item> {
  /** Heading in capitals; in lower case also the key of `key=value` in the filter. */
  readonly heading: string;
  readonly cell: { of(item: T, look: Look): string }['of'];
  /** Value by which rows are sorted; the cell’s text when absent. */
  readonly rank?: OfItem<T, Rank>;
  /** Shown with Ctrl-W only. */
  readonly isWide?: boolean;
  readonly align?: 'right';
  /** Changes by itself: a filter does not search it. */
  readonly isLive?: boolean;
}

/** Rows of a view that belong to one row of another. */
export interface Scope {
  /** Title in the breadcrumbs. */
  readonly title: string;
  readonly field: string;
  readonly value: string;
  readonly namespace: string | undefined;
}

/** Texts about one row. */
export type TextKind =
  'describe' | 'yaml' | 'logs' | 'previous' | 'errors' | 'files' | 'run' | 'conversation' | 'use';

/** Destination of Enter. */
export type Step =
  | { readonly kind: 'view'; readonly view: string; readonly scope: Scope }
  | { readonly kind: 'text'; readonly text: TextKind }
  | { readonly kind: 'namespace'; readonly namespace: string };

/** Enter leads to the rows of another view that have the name of the selected one in this field. */
export function leadsTo(view: string, field: string): (row: Item) => Step {
  return ({ metadata: { name, namespace } }) => ({
    kind: 'view',
    view,
    scope: { title: name, field, value: name, namespace },
  });
}

/**
 * Everything about the rows of one kind. The prompt, the table, sorting, filter, help and the linear output are made from
 * it.
 */
export interface View<T extends Item = Item> {
  /** Name for `:`, and the title of the table. */
  readonly name: string;
  /** Other words for it; those of kubectl among them. */
  readonly aliases: readonly string[];
  readonly about: string;
  readonly source: Source;
  /** Filter for several views of one source. */
  readonly isOf?: OfItem<T, boolean>;
  readonly state: OfItem<T, ShownState>;
  /** The name first; it stays when the others are moved aside. */
  readonly columns: readonly Column<T>[];
  /** Order without a chosen column; by name when absent. */
  readonly order?: OfItem<T, Rank>;
  /** True when REST applies conditions in the filter language to its rows. */
  readonly takesConditions?: boolean;
  /** Fields that a scope or a filter may name beside columns and labels. */
  readonly fields?: Readonly<Record<string, OfItem<T, string | undefined>>>;
  readonly enter?: OfItem<T, Step | undefined>;
  /** Pods whose logs are those of the row. */
  readonly podsOf?: OfItem<T, PodChoice>;
  /** Texts about a row, beside describe and YAML. */
  readonly texts?: readonly TextKind[];
  readonly actions: readonly RowAction<T>[];
  /** Advice on getting rows, when there are none. */
  readonly hint: string;
}

/** Names the type of a view's items once. */
export function defineView<T extends Item>(view: View<T>): View {
  return view;
}
