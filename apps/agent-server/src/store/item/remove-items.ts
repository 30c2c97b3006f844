import { itemConditions, Values } from '../row/item-search.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Removes items under a prefix, up to a limit. @returns how many */
export async function removeItems(
  scope: Scope,
  sql: Sql,
  prefix: readonly string[],
  limit: number,
): Promise<number> {
  const values = new Values();
  const conditions = itemConditions({ prefix, filter: undefined }, values);
  const { rowCount } = await sql.inScope(scope, {
    takesTurn: true,
    text: `DELETE FROM agentplane.store_items WHERE item_id IN (
      SELECT i.item_id FROM agentplane.store_items i WHERE ${conditions} LIMIT ${values.bind(limit)})`,
    values: values.list,
  });
  return rowCount ?? 0;
}
