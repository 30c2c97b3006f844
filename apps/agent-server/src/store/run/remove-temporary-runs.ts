import type { ClaimedRun } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

// Rows are locked in one order everywhere, so that a renewal and a removal of the same runs cannot deadlock.
const REMOVE = `
WITH ended AS (
  SELECT r.run_id FROM agentplane.runs r JOIN unnest($1::uuid[], $2::int[]) AS e(run_id, attempt)
    ON r.run_id = e.run_id AND r.attempt = e.attempt
  WHERE r.status = 'running' AND r.temporary ORDER BY r.run_id FOR UPDATE OF r)
DELETE FROM agentplane.runs r USING ended WHERE r.run_id = ended.run_id RETURNING r.run_id`;

/**
 * Ends runs without a thread.
 * @returns the ids of those removed; newer attempts have the others
 */
export async function removeTemporaryRuns(
  scope: WorkerScope,
  sql: Sql,
  runs: readonly ClaimedRun[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql.asWorker<{ run_id: string }>(scope, {
    name: 'remove-temporary-runs',
    text: REMOVE,
    values: [runs.map((run) => run.runId), runs.map((run) => run.attempt)],
  });
  return new Set(rows.map((row) => row.run_id));
}
