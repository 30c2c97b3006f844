import { expiryIn, ITEM_DOCUMENT, ITEM_IS_LIVE } from '../row/item-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Begins the time to live of items again. One that another writes right now is left to the other. */
export async function refreshItems(scope: Scope, sql: Sql, itemIds: readonly string[]): Promise<void> {
  await sql.inScope(scope, {
    text: `UPDATE agentplane.store_items i SET expires_at = ${expiryIn('i.ttl_minutes')}
      FROM (SELECT i.item_id FROM agentplane.store_items i WHERE i.item_id = ANY ($2::bigint[])
        AND i.ttl_minutes IS NOT NULL AND ${ITEM_IS_LIVE} AND ${visible(ITEM_DOCUMENT)}
        FOR UPDATE SKIP LOCKED) read
      WHERE i.item_id = read.item_id`,
    values: [itemIds],
  });
}
