import { ITEM_DOCUMENT } from '../row/item-row.js';
import { itemVector, SENT_VECTOR, type ItemVector, type ItemVectorRow } from '../row/item-vector.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

const READ = `SELECT v.item_id, ${SENT_VECTOR} FROM agentplane.store_vectors v
  JOIN agentplane.store_items i ON i.item_id = v.item_id
  WHERE v.item_id = ANY ($2::bigint[]) AND v.dims = $3::int AND ${visible(ITEM_DOCUMENT)}`;

/** The vectors of items that have this number of dimensions. */
export async function readVectors(
  scope: Scope,
  sql: Sql,
  itemIds: readonly string[],
  dims: number,
): Promise<ItemVector[]> {
  const { rows } = await sql.inScope<ItemVectorRow>(scope, {
    name: 'read-vectors',
    text: READ,
    values: [itemIds, dims],
  });
  return rows.map(itemVector);
}
