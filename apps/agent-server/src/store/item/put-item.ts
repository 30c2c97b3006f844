import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText } from '../json-text.js';
import { expiryIn, ITEM_DOCUMENT, ITEM_IS_LIVE, itemDocument, type ItemPlace } from '../row/item-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Embedding of a field of an item, as numbers of a model. */
export interface FieldVector {
  readonly field: string;
  /** Vector of length one, or all zeros. */
  readonly vector: Float32Array;
}

export interface NewItem extends ItemPlace {
  readonly value: JsonObject;
  /** Minutes; undefined: it never expires. */
  readonly ttlMinutes: number | undefined;
  readonly vectors: readonly FieldVector[];
}

const NEW_DOCUMENT = itemDocument('$2::text[]', '$3::text', '$4::jsonb');

// An expired item is replaced by a new one, whatever its owner was.
const PUT = `WITH put AS (
    INSERT INTO agentplane.store_items AS i (namespace, key, value, ttl_minutes, expires_at)
    SELECT $2::text[], $3::text, $4::jsonb, $5::float8, ${expiryIn('$5::float8')} WHERE ${visible(NEW_DOCUMENT)}
    ON CONFLICT (namespace, key) DO UPDATE SET value = EXCLUDED.value, ttl_minutes = EXCLUDED.ttl_minutes,
      expires_at = EXCLUDED.expires_at, updated_at = clock_timestamp(),
      created_at = CASE WHEN ${ITEM_IS_LIVE} THEN i.created_at ELSE clock_timestamp() END
    WHERE NOT ${ITEM_IS_LIVE} OR ${visible(ITEM_DOCUMENT)}
    RETURNING i.item_id),
  forgotten AS (DELETE FROM agentplane.store_vectors v USING put
    WHERE v.item_id = put.item_id AND NOT (v.field = ANY ($6::text[]))),
  embedded AS (INSERT INTO agentplane.store_vectors AS v (item_id, field, dims, vector)
    SELECT put.item_id, e.field, cardinality(e.vector::real[]), e.vector::real[] FROM put, unnest($6::text[], $7::text[]) AS e(field, vector)
    ON CONFLICT (item_id, field) DO UPDATE SET dims = EXCLUDED.dims, vector = EXCLUDED.vector)
  SELECT item_id, ${visible(NEW_DOCUMENT)} AS admitted FROM (SELECT 1) one LEFT JOIN put ON true`;

/**
 * Writes an item with the embeddings of its fields, replacing the existing one.
 * @throws PublicError `forbidden` for an item outside of the scope, `conflict` when the existing one is
 *   outside of it
 */
export async function putItem(scope: Scope, sql: Sql, item: NewItem): Promise<void> {
  const { namespace, key, value, ttlMinutes, vectors } = item;
  const { rows } = await sql.inScope<{ item_id: string | null; admitted: boolean }>(scope, {
    name: 'put-item',
    text: PUT,
    values: [
      namespace,
      key,
      jsonbText(value),
      ttlMinutes ?? null,
      vectors.map(({ field }) => field),
      vectors.map(({ vector }) => `{${vector.join(',')}}`),
    ],
  });
  if (!rows[0]?.admitted)
    throw new PublicError('forbidden', `Item "${key}" is outside what this caller may access`);
  if (rows[0].item_id === null)
    throw new PublicError('conflict', `Item "${key}" exists already and belongs to another caller`);
}
