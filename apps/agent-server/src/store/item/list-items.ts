import { boundedPage } from '../bounded-page.js';
import {
  ITEM_COLUMNS,
  ITEM_DOCUMENT,
  ITEM_IS_LIVE,
  storedItem,
  type FoundItem,
  type ItemRow,
} from '../row/item-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Items in the order of their ids; a part of them when they are large. */
export async function listItems(scope: Scope, sql: Sql, itemIds: readonly string[]): Promise<FoundItem[]> {
  const { rows } = await sql.inScope<ItemRow>(scope, {
    text: boundedPage({
      columns: ITEM_COLUMNS,
      alias: 'i',
      rows: `SELECT ${ITEM_COLUMNS} FROM agentplane.store_items i
        JOIN unnest($2::bigint[]) WITH ORDINALITY AS ranked(item_id, place) ON ranked.item_id = i.item_id
        WHERE ${visible(ITEM_DOCUMENT)} AND ${ITEM_IS_LIVE} ORDER BY ranked.place`,
      large: ['value'],
    }),
    values: [itemIds],
  });
  return rows.map((row) => ({ itemId: row.item_id, item: storedItem(row) }));
}
