import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** How many runs of the deployment wait for a server; for metrics. */
export async function countQueuedRuns(scope: WorkerScope, sql: Sql): Promise<number> {
  const { rows } = await sql.asWorker<{ count: number }>(scope, {
    text: `SELECT count(*)::int AS count FROM agentplane.runs WHERE status = 'pending'`,
  });
  return rows[0]?.count ?? 0;
}
