import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Limit per statement. */
const MAX_ROWS = 10_000;

const SWEEP = `
WITH old AS (
  SELECT run_id FROM agentplane.webhooks
  WHERE state <> 'pending' AND settled_at < clock_timestamp() - interval '7 days' LIMIT $1 FOR UPDATE SKIP LOCKED)
DELETE FROM agentplane.webhooks w USING old WHERE w.run_id = old.run_id`;

/** Forgets calls that succeeded or failed for good a week ago. */
export async function sweepWebhooks(scope: WorkerScope, sql: Sql): Promise<void> {
  for (;;) {
    const { rowCount } = await sql.asWorker(scope, { text: SWEEP, values: [MAX_ROWS] });
    if ((rowCount ?? 0) < MAX_ROWS) return;
  }
}
