import { itemConditions, Values } from '../row/item-search.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Number of items under a prefix. */
export async function countItems(scope: Scope, sql: Sql, prefix: readonly string[]): Promise<number> {
  const values = new Values();
  const conditions = itemConditions({ prefix, filter: undefined }, values);
  const { rows } = await sql.inScope<{ count: number }>(scope, {
    scans: 'Counting items',
    text: `SELECT count(*)::int AS count FROM agentplane.store_items i WHERE ${conditions}`,
    values: values.list,
  });
  return rows[0]?.count ?? 0;
}
