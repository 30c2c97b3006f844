import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

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
