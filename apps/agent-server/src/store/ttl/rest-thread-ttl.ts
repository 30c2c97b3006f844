import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Schedules the next check of a pruned thread one lifetime later, after a minute at least. */
export async function restThreadTtl(scope: WorkerScope, sql: Sql, threadId: string): Promise<void> {
  await sql.asWorker(scope, {
    text: `UPDATE agentplane.thread_ttls
      SET check_at = clock_timestamp() + greatest(minutes, 1) * interval '1 minute' WHERE thread_id = $1`,
    values: [threadId],
  });
}
