import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/**
 * The place of a run among all runs.
 * @param runId of a run of the thread; the newest one without it
 */
export async function findRunPlace(
  scope: Scope,
  sql: Sql,
  threadId: string,
  runId?: string,
): Promise<number | undefined> {
  const { rows } = await sql.inScope<{ ordinal: string }>(scope, {
    text: `SELECT r.ordinal FROM agentplane.runs r
      WHERE r.thread_id = $2 AND ($3::uuid IS NULL OR r.run_id = $3) AND ${RUN_IS_VISIBLE}
      ORDER BY r.ordinal DESC LIMIT 1`,
    values: [threadId, runId ?? null],
  });
  return rows[0] && Number(rows[0].ordinal);
}
