import type { WorkedRun } from '../row/worked-run.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { notifyPending } from './notify-pending.js';

/** A run that goes back into the queue. */
export interface ReturnedRun extends WorkedRun {
  /** True when a client still reads it, or waits for its end, at the server that had it. */
  readonly isRead: boolean;
}

const HAND_BACK = `
UPDATE agentplane.runs r SET status = 'pending', server_id = NULL, lease_until = NULL, updated_at = clock_timestamp(),
  watchers = array_remove(r.watchers, r.server_id) || CASE WHEN b.is_read THEN ARRAY[r.server_id] ELSE '{}' END,
  streamed = r.streamed OR b.is_read, worked_ms = b.worked_ms
FROM unnest($1::uuid[], $2::int[], $3::float8[], $4::boolean[]) AS b(run_id, attempt, worked_ms, is_read)
WHERE r.run_id = b.run_id AND r.attempt = b.attempt AND r.status = 'running'`;

/**
 * Puts runs back into the queue, where any server may take them as the next attempt; refused from an old
 * attempt. The server that takes one relays its output to the server of its readers from the first event on:
 * a short run may end before they ask.
 */
export async function handBackRuns(
  scope: WorkerScope,
  sql: Sql,
  runs: readonly ReturnedRun[],
): Promise<void> {
  if (runs.length === 0) return;
  await sql.asWorker(scope, {
    text: HAND_BACK,
    values: [
      runs.map((run) => run.runId),
      runs.map((run) => run.attempt),
      runs.map((run) => run.workedMs),
      runs.map((run) => run.isRead),
    ],
  });
  await notifyPending(scope, sql);
}
