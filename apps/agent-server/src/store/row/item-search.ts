import { visible } from '../visible.js';
import { ITEM_DOCUMENT, ITEM_IS_LIVE } from './item-row.js';
import { itemFilter } from './item-filter.js';
import { underPrefix } from './namespace-range.js';

/** Search for items. */
export interface ItemSearch {
  readonly prefix: readonly string[];
  /** Filter as LangGraph's stores read it; undefined for none. */
  readonly filter: unknown;
}

/** Collected values of a statement; `bind` answers the position of each, from `$2` on. */
export class Values {
  readonly list: unknown[] = [];
  readonly bind = (value: unknown): string => {
    this.list.push(value);
    return `$${this.list.length + 1}`;
  };
}

/**
 * The conditions of a search on an item `i`, the scope's first.
 * @throws PublicError `invalid` for an invalid filter
 */
export function itemConditions({ prefix, filter }: ItemSearch, { bind }: Values): string {
  const conditions = [visible(ITEM_DOCUMENT), ITEM_IS_LIVE, underPrefix(prefix, bind)];
  if (filter !== undefined) conditions.push(itemFilter(filter, bind));
  return conditions.join(' AND ');
}
