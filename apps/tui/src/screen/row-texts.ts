import { visibleText } from '#lib/command-line';
import { findFilterProblem } from '#lib/filter-language';
import { oneLine } from '../render/fit.js';
import { NAMESPACE } from '../views/export-cells.js';
import type { Column, Look, View } from '../views/view.js';
import { filterKeys, isCondition, type Searchable, SearchTexts } from '../rows/row-filter.js';
import type { Frame } from '../session/session.js';
import type { Item, Items } from '../world/items.js';

const EPOCH = new Date(0);

/** The columns of a view as it is looked at; the state follows the name. */
export function columnsOf(
  view: View,
  look: { readonly isWide: boolean; readonly isQualified: boolean },
): readonly Column[] {
  const [name, ...others] = view.columns;
  const shown = others.filter((column) => look.isWide || !column.isWide);
  const state: Column = {
    heading: 'STATE',
    cell: (item) => view.state(item).word,
  };
  return [...(name ? [name] : []), ...(look.isQualified ? [NAMESPACE] : []), state, ...shown];
}

/** Function by which a filter reads the rows of a view. */
export function searchOf(view: View, look: Look, texts: SearchTexts): (item: Item) => Searchable {
  const columns = new Map(view.columns.map((column) => [column.heading.toLowerCase(), column]));
  return (item) => ({
    text: texts.of(item),
    valueOf: (name) => {
      if (name === 'state') return view.state(item).word;
      if (name === 'namespace' || name === 'ns') return item.metadata.namespace;
      const field = view.fields?.[name];
      if (field) return field(item);
      return columns.get(name)?.cell(item, look) ?? labelOf(item, name);
    },
  });
}

/** Words for a table without rows: what is read, what the filter names that no row has, or how to get rows. */
export function emptyHint(
  view: View,
  items: Items,
  { filter, isErrorsOnly = false }: Pick<Frame, 'filter' | 'isErrorsOnly'>,
): string {
  if (!items.hasSynced) return 'reading …';
  if (filter === '') return isErrorsOnly ? 'no row is in a bad state: ^z shows all' : view.hint;
  if (view.takesConditions === true && isCondition(filter)) {
    const problem = findFilterProblem(filter)?.message;
    return problem ?? `no row meets ${visibleText(filter)}; Esc drops the filter`;
  }
  const [unknown] = filterKeys(filter).filter((key) => !isKnown(view, items, key));
  const why = unknown === undefined ? '' : `: no column, field or label is called ${visibleText(unknown)}`;
  return `nothing matches /${visibleText(filter)}${why}; Esc drops the filter`;
}

function isKnown(view: View, items: Items, key: string): boolean {
  return (
    ['state', 'namespace', 'ns'].includes(key) ||
    view.fields?.[key] !== undefined ||
    view.columns.some(({ heading }) => heading.toLowerCase() === key) ||
    items.list().some((item) => labelOf(item, key) !== undefined)
  );
}

/** Names are typed in lower case. */
function labelOf({ metadata: { labels = {} } }: Item, name: string): string | undefined {
  return labels[name] ?? Object.entries(labels).find(([key]) => key.toLowerCase() === name)?.[1];
}

/**
 * Text that a filter without `=` searches: name, namespace, state, message, and cells that do not change by
 * themselves.
 */
export function searchTexts(view: View, look: Look): SearchTexts {
  const columns = view.columns.filter(({ isLive }) => !isLive);
  return new SearchTexts((item) => {
    const { word, message } = view.state(item);
    const cells = columns.map((column) => column.cell(item, { ...look, now: EPOCH }));
    return oneLine([item.metadata.namespace ?? '', word, message, ...cells].join(' '));
  });
}
