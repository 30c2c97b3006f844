import type { Position } from '../../log/position.js';
import { END } from '../row/run-event-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The newest position of the output that other servers relayed of a run; its end does not count. */
export async function findLastEvent(
  scope: WorkerScope,
  sql: Sql,
  runId: string,
): Promise<Position | undefined> {
  const { rows } = await sql.asWorker<{ attempt: number; n: number }>(scope, {
    text: `SELECT attempt, n FROM agentplane.run_events WHERE run_id = $1 AND event <> $2
      ORDER BY attempt DESC, n DESC LIMIT 1`,
    values: [runId, END],
  });
  return rows[0];
}
