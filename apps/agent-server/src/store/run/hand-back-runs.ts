import type { WorkedRun } from '../row/worked-run.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { notifyPending } from './notify-pending.js';

const HAND_BACK = `
UPDATE agentplane.runs r SET status = 'pending', server_id = NULL, lease_until = NULL, updated_at = clock_timestamp(),
  watchers = array_remove(r.watchers, r.server_id), worked_ms = b.worked_ms
FROM unnest($1::uuid[], $2::int[], $3::float8[]) AS b(run_id, attempt, worked_ms)
WHERE r.run_id = b.run_id AND r.attempt = b.attempt AND r.status = 'running'`;

/** Puts runs back into the queue, where any server may take them as the next attempt; refused from an old attempt. */
export async function handBackRuns(scope: WorkerScope, sql: Sql, runs: readonly WorkedRun[]): Promise<void> {
  if (runs.length === 0) return;
  await sql.asWorker(scope, {
    text: HAND_BACK,
    values: [runs.map((run) => run.runId), runs.map((run) => run.attempt), runs.map((run) => run.workedMs)],
  });
  await notifyPending(scope, sql);
}
