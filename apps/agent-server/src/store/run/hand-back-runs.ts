import type { ClaimedRun } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { notifyPending } from './notify-pending.js';

const HAND_BACK = `
UPDATE agentplane.runs r SET status = 'pending', server_id = NULL, lease_until = NULL, updated_at = clock_timestamp(),
  watchers = array_remove(r.watchers, r.server_id)
FROM unnest($1::uuid[], $2::int[]) AS b(run_id, attempt)
WHERE r.run_id = b.run_id AND r.attempt = b.attempt AND r.status = 'running'`;

/** Puts runs back into the queue, where any server may take them as the next attempt; refused from an old attempt. */
export async function handBackRuns(scope: WorkerScope, sql: Sql, runs: readonly ClaimedRun[]): Promise<void> {
  if (runs.length === 0) return;
  await sql.asWorker(scope, {
    text: HAND_BACK,
    values: [runs.map((run) => run.runId), runs.map((run) => run.attempt)],
  });
  await notifyPending(scope, sql);
}
