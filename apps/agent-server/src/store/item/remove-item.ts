import { ITEM_DOCUMENT, ITEM_IS_LIVE, type ItemPlace } from '../row/item-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Answers whether there was one. */
export async function removeItem(scope: Scope, sql: Sql, { namespace, key }: ItemPlace): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.store_items i
      WHERE i.namespace = $2::text[] AND i.key = $3 AND ${ITEM_IS_LIVE} AND ${visible(ITEM_DOCUMENT)}`,
    values: [namespace, key],
  });
  return rowCount === 1;
}
