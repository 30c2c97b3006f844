import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** Returns true when a run of the thread is pending or running. */
export async function hasActiveRun(scope: Scope, sql: Sql, threadId: string): Promise<boolean> {
  const { rows } = await sql.inScope(scope, {
    text: `SELECT 1 FROM agentplane.runs r
      WHERE r.thread_id = $2 AND r.status IN ('pending', 'running') AND ${RUN_IS_VISIBLE} LIMIT 1`,
    values: [threadId],
  });
  return rows.length > 0;
}
