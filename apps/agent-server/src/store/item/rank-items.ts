import { itemConditions, Values, type ItemSearch } from '../row/item-search.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

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
