import {
  expiryIn,
  ITEM_COLUMNS,
  ITEM_DOCUMENT,
  ITEM_IS_LIVE,
  storedItem,
  type ItemPlace,
  type ItemRow,
  type StoredItem,
} from '../row/item-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

const FOUND = `i.namespace = $2::text[] AND i.key = $3 AND ${ITEM_IS_LIVE} AND ${visible(ITEM_DOCUMENT)}`;

const GET = `WITH refreshed AS (
    UPDATE agentplane.store_items i SET expires_at = ${expiryIn('i.ttl_minutes')}
    WHERE $4::boolean AND i.ttl_minutes IS NOT NULL AND ${FOUND})
  SELECT ${ITEM_COLUMNS} FROM agentplane.store_items i WHERE ${FOUND}`;

/** @param refreshes whether its time to live begins again */
export async function getItem(
  scope: Scope,
  sql: Sql,
  { namespace, key }: ItemPlace,
  refreshes: boolean,
): Promise<StoredItem | undefined> {
  const { rows } = await sql.inScope<ItemRow>(scope, {
    name: 'get-item',
    text: GET,
    values: [namespace, key, refreshes],
  });
  return rows[0] && storedItem(rows[0]);
}
