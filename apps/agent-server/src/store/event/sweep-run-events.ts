import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

const SWEEP = `DELETE FROM agentplane.run_events WHERE created_at < clock_timestamp() - interval '10 minutes'`;

/** Removes relayed events that every reader has had time to read. */
export async function sweepRunEvents(scope: WorkerScope, sql: Sql): Promise<void> {
  await sql.asWorker(scope, { text: SWEEP });
}
