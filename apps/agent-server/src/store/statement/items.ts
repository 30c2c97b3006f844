import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { sqlState } from '#lib/postgres';
import { boundedPage, jsonbText } from '../json-text.js';
import {
  expiryIn,
  type FoundItem,
  ITEM_COLUMNS,
  ITEM_DOCUMENT,
  ITEM_IS_LIVE,
  itemConditions,
  itemDocument,
  type ItemPlace,
  type ItemRow,
  type ItemSearch,
  storedItem,
  type StoredItem,
  Values,
  itemVector,
  type ItemVector,
  type ItemVectorRow,
  SENT_VECTOR,
} from '../row/item-row.js';
import { type Scope, type WorkerScope, visible } from '../scope.js';
import type { Sql } from '../sql.js';

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

export interface NamespaceSearch {
  /** Labels that a namespace begins with; `*` stands for any. */
  readonly prefix: readonly string[];
  readonly suffix: readonly string[];
  /** Labels after which a namespace is cut off. */
  readonly maxDepth: number | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** SQL: true when `i.namespace` has the labels of a parameter, from its place `first` on. */
function hasLabels(labels: string, first: string): string {
  return `(cardinality(i.namespace) >= cardinality(${labels}::text[]) AND NOT EXISTS (
      SELECT 1 FROM unnest(${labels}::text[]) WITH ORDINALITY AS wanted(label, place)
      WHERE wanted.label <> '*' AND wanted.label <> i.namespace[${first} + wanted.place::int - 1]))`;
}

/** The namespaces of items, in the order of their bytes. */
export async function listNamespaces(
  scope: Scope,
  sql: Sql,
  { prefix, suffix, maxDepth, limit, offset }: NamespaceSearch,
): Promise<string[][]> {
  const { rows } = await sql.inScope<{ shown: string[] }>(scope, {
    scans: 'Listing namespaces',
    text: `SELECT DISTINCT i.namespace[1:coalesce($4::int, cardinality(i.namespace))] AS shown
      FROM agentplane.store_items i
      WHERE ${visible(ITEM_DOCUMENT)} AND ${ITEM_IS_LIVE} AND ${hasLabels('$2', '1')}
        AND ${hasLabels('$3', 'cardinality(i.namespace) - cardinality($3::text[]) + 1')}
      ORDER BY shown LIMIT $5 OFFSET $6`,
    values: [prefix, suffix, maxDepth ?? null, limit, offset],
  });
  return rows.map((row) => row.shown);
}

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

/** Answers whether there was one. */
export async function removeItem(scope: Scope, sql: Sql, { namespace, key }: ItemPlace): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.store_items i
      WHERE i.namespace = $2::text[] AND i.key = $3 AND ${ITEM_IS_LIVE} AND ${visible(ITEM_DOCUMENT)}`,
    values: [namespace, key],
  });
  return rowCount === 1;
}

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

/** Rows of one statement: a sweep after a long pause must not hold the database up. */
const MAX_SWEPT = 1_000;

const SWEEP = `DELETE FROM agentplane.store_items WHERE item_id IN (
  SELECT item_id FROM agentplane.store_items WHERE expires_at <= clock_timestamp()
  ORDER BY expires_at LIMIT ${MAX_SWEPT} FOR UPDATE SKIP LOCKED)`;

/** Removes expired items; several servers at once share them. @returns true when there may be more */
export async function sweepItems(scope: WorkerScope, sql: Sql): Promise<boolean> {
  const { rowCount } = await sql.asWorker(scope, { text: SWEEP });
  return rowCount === MAX_SWEPT;
}

/**
 * Returns true when the database compares vectors itself, now: an extension may be created and dropped at any
 * time.
 */
export async function hasVectorType(scope: WorkerScope, sql: Sql): Promise<boolean> {
  const { rows } = await sql.asWorker<{ found: boolean }>(scope, {
    text: `SELECT to_regtype('vector') IS NOT NULL AS found`,
  });
  return rows[0]?.found ?? false;
}

/**
 * Creates pgvector when its files are beside the database and this user may; otherwise an operator may have
 * created it.
 */
export async function ensureVectorType(scope: WorkerScope, sql: Sql): Promise<void> {
  try {
    await sql.asWorker(scope, { text: 'CREATE EXTENSION IF NOT EXISTS vector' });
  } catch (error) {
    if (sqlState(error) === undefined) throw error; // no answer of the database
  }
}

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

/** Similarity of an item to the query: the cosine, from -1 to 1. */
export interface Ranked {
  readonly itemId: string;
  readonly score: number;
}

/** The closest items, compared by pgvector: for a database that has its type. */
export async function rankItems(
  scope: Scope,
  sql: Sql,
  search: ItemSearch,
  { query, limit }: { readonly query: Float32Array; readonly limit: number },
): Promise<Ranked[]> {
  const values = new Values();
  const conditions = itemConditions(search, values);
  const wanted = values.bind(`[${query.join(',')}]`);
  const { rows } = await sql.inScope<{ item_id: string; score: number }>(scope, {
    scans: 'Ranking items',
    text: `SELECT i.item_id, max(-(v.vector::vector <#> ${wanted}::vector)) AS score
      FROM agentplane.store_items i JOIN agentplane.store_vectors v ON v.item_id = i.item_id
      WHERE ${conditions} AND v.dims = ${values.bind(query.length)}
      GROUP BY i.item_id ORDER BY score DESC, i.item_id LIMIT ${values.bind(limit)}`,
    values: values.list,
  });
  return rows.map(({ item_id: itemId, score }) => ({ itemId, score }));
}

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
