import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * Removes a run without a thread, with its output and the pending call of its webhook; a running one is
 * thereby fenced.
 * @returns true when there was one
 */
export async function removeTemporaryRun(scope: Scope, sql: Sql, runId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `WITH gone AS (
        DELETE FROM agentplane.runs r WHERE r.run_id = $2 AND r.temporary AND ${visible('r.metadata')} RETURNING r.run_id),
      unsent AS (DELETE FROM agentplane.webhooks w USING gone WHERE w.run_id = gone.run_id),
      unread AS (DELETE FROM agentplane.run_events e USING gone WHERE e.run_id = gone.run_id)
      SELECT run_id FROM gone`,
    values: [runId],
  });
  return rowCount === 1;
}
