import { ITEM_DOCUMENT, ITEM_IS_LIVE } from '../row/item-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

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
