import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Marks a run whose output has a reader: its next attempt records it from the first event. */
export async function markStreamed(scope: WorkerScope, sql: Sql, runId: string): Promise<void> {
  await sql.asWorker(scope, {
    text: `UPDATE agentplane.runs SET streamed = true
      WHERE run_id = $1 AND NOT streamed AND status IN ('pending', 'running')`,
    values: [runId],
  });
}
