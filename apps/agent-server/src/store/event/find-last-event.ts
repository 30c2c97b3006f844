import type { Position } from '../../log/position.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The newest position that other servers relayed of a run. */
export async function findLastEvent(
  scope: WorkerScope,
  sql: Sql,
  runId: string,
): Promise<Position | undefined> {
  const { rows } = await sql.asWorker<{ attempt: number; n: number }>(scope, {
    text: `SELECT attempt, n FROM agentplane.run_events WHERE run_id = $1 ORDER BY attempt DESC, n DESC LIMIT 1`,
    values: [runId],
  });
  return rows[0];
}
