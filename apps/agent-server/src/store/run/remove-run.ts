import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** Removes a run that has ended; answers whether there was one. */
export async function removeRun(scope: Scope, sql: Sql, runId: string, threadId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.runs r WHERE r.run_id = $2 AND r.thread_id = $3
      AND r.status NOT IN ('pending', 'running') AND ${RUN_IS_VISIBLE}`,
    values: [runId, threadId],
  });
  return rowCount === 1;
}
