import { boundedPage } from '../bounded-page.js';
import { ITEM_COLUMNS, storedItem, type FoundItem, type ItemRow } from '../row/item-row.js';
import { itemConditions, Values, type ItemSearch } from '../row/item-search.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Items from the last changed to the first; a part of the page when they are large. */
export async function searchItems(
  scope: Scope,
  sql: Sql,
  search: ItemSearch,
  page: { readonly limit: number; readonly offset: number },
): Promise<FoundItem[]> {
  const values = new Values();
  const conditions = itemConditions(search, values);
  const { rows } = await sql.inScope<ItemRow>(scope, {
    scans: 'Searching items',
    text: boundedPage({
      columns: ITEM_COLUMNS,
      alias: 'i',
      rows: `SELECT ${ITEM_COLUMNS} FROM agentplane.store_items i WHERE ${conditions}
        ORDER BY i.updated_at DESC, i.item_id DESC
        LIMIT ${values.bind(page.limit)} OFFSET ${values.bind(page.offset)}`,
      large: ['value'],
    }),
    values: values.list,
  });
  return rows.map((row) => ({ itemId: row.item_id, item: storedItem(row) }));
}
