import { sqlState } from '#lib/postgres';
import {
  ITEM_DOCUMENT,
  itemConditions,
  type ItemSearch,
  itemVector,
  type ItemVector,
  type ItemVectorRow,
  SENT_VECTOR,
  Values,
} from '../row/item-row.js';
import type { Scope, WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

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
