import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** Runs that wait or are at work, of one thread or of all. */
export async function listActiveRuns(
  scope: Scope,
  sql: Sql,
  status: 'pending' | 'running',
  threadId: string | undefined,
): Promise<readonly { readonly runId: string; readonly threadId: string }[]> {
  const { rows } = await sql.inScope<{ run_id: string; thread_id: string }>(scope, {
    scans: 'Searching runs',
    text: `SELECT r.run_id, r.thread_id FROM agentplane.runs r
      WHERE r.status = $2 AND ($3::uuid IS NULL OR r.thread_id = $3) AND ${RUN_IS_VISIBLE} ORDER BY r.ordinal`,
    values: [status, threadId ?? null],
  });
  return rows.map((row) => ({ runId: row.run_id, threadId: row.thread_id }));
}
