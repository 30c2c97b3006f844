import type { Pool, Queryable } from '#lib/postgres';
import { eachStep } from '../each-step.js';
import { removeSomeReferences } from './attached-examples.js';

/** Rows of one transaction: their payloads may be large. */
const ROWS_AT_ONCE = 500;

/** Tables in the order of their removal; they are not read for a dataset that is marked as deleted. */
const TABLES = ['example_versions', 'example_payloads', 'dataset_versions', 'dataset_tags'] as const;

/**
 * Removes the rows of a dataset that is marked as deleted, the mark last. Safe to repeat, and in several processes at
 * once.
 */
export async function removeDataset(pool: Pool, tenantId: string, id: string): Promise<void> {
  for (const table of TABLES) while ((await removeSome(pool, table, tenantId, id)) === ROWS_AT_ONCE);
  while ((await removeSomeReferences(pool, tenantId, id, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
  // another process may hold some rows that this one skipped: the last process removes the mark
  const isEmpty = [...TABLES, 'example_attachments'].map(
    (table) => `NOT EXISTS (SELECT FROM ${table} WHERE tenant_id = $1 AND dataset_id = $2)`,
  );
  await pool.query(
    `DELETE FROM datasets WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NOT NULL AND ${isEmpty.join(' AND ')}`,
    [tenantId, id],
  );
}

async function removeSome(
  db: Queryable,
  table: (typeof TABLES)[number],
  tenantId: string,
  id: string,
): Promise<number> {
  const { rowCount } = await db.query(
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${table} WHERE tenant_id = $1 AND dataset_id = $2 LIMIT ${ROWS_AT_ONCE}
    ))`,
    [tenantId, id],
  );
  return rowCount ?? 0;
}

/**
 * Completes interrupted deletions, except those that their own process still performs.
 * @throws errors of some of them, after all others were completed
 */
export async function removeMarkedDatasets(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ tenant_id: string; id: string }>(
    `SELECT tenant_id, id FROM datasets WHERE deleted_at < clock_timestamp() - interval '5 minutes'
    ORDER BY deleted_at`,
  );
  await eachStep(rows.map((row) => () => removeDataset(pool, row.tenant_id, row.id)));
}
