import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

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
