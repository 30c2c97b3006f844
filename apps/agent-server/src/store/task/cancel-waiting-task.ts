import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * Ends a run that has stopped to ask for something: it will get no answer. Its thread waits no more.
 * @returns false when the thread continued in the meantime
 */
export async function cancelWaitingTask(
  scope: Scope,
  sql: Sql,
  runId: string,
  threadId: string,
): Promise<boolean> {
  const { rows } = await sql.inScope(scope, {
    text: `WITH waiting AS (
        SELECT t.thread_id FROM agentplane.threads t
        WHERE t.thread_id = $3 AND t.status = 'interrupted' AND ${visible('t.metadata')} FOR UPDATE),
      ended AS (
        UPDATE agentplane.runs r SET status = 'interrupted', cancel = 'interrupt', updated_at = clock_timestamp()
        FROM waiting w WHERE r.thread_id = w.thread_id AND r.run_id = $2 AND r.status = 'success'
          AND NOT EXISTS (SELECT 1 FROM agentplane.runs n WHERE n.thread_id = r.thread_id AND n.ordinal > r.ordinal)
        RETURNING r.thread_id)
      UPDATE agentplane.threads t SET status = 'idle', resting_status = 'idle', interrupts = '{}',
        updated_at = clock_timestamp() FROM ended e WHERE t.thread_id = e.thread_id RETURNING t.thread_id`,
    values: [runId, threadId],
    locks: threadId,
  });
  return rows.length > 0;
}
