import { itemConditions, Values, type ItemSearch } from '../row/item-search.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The items that a search can rank: an id for each of their vectors of that many numbers, up to a limit. */
export async function listEmbeddedItems(
  scope: Scope,
  sql: Sql,
  search: ItemSearch,
  { dims, limit }: { readonly dims: number; readonly limit: number },
): Promise<string[]> {
  const values = new Values();
  const conditions = itemConditions(search, values);
  const { rows } = await sql.inScope<{ item_id: string }>(scope, {
    scans: 'Searching items',
    text: `SELECT v.item_id FROM agentplane.store_items i JOIN agentplane.store_vectors v ON v.item_id = i.item_id
      WHERE ${conditions} AND v.dims = ${values.bind(dims)} LIMIT ${values.bind(limit)}`,
    values: values.list,
  });
  return rows.map((row) => row.item_id);
}
