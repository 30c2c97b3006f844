import { oneLine } from '../render/fit.js';
import { NAMESPACE } from '../views/export-cells.js';
import type { Column, Look, View } from '../views/view.js';
import { type Searchable, SearchTexts } from '../rows/row-filter.js';
import type { Item } from '../world/items.js';

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
