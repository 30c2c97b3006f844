import { positionText, type Position } from '../../log/position.js';
import { CHANNEL } from '../channel.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Answers servers that asked for a run's output with its newest position; later events are relayed. */
export async function notifyPosition(
  scope: WorkerScope,
  sql: Sql,
  runId: string,
  position: Position,
): Promise<void> {
  await sql.asWorker(scope, {
    text: `SELECT pg_notify('${CHANNEL}', 'at:' || $1)`,
    values: [`${runId}:${positionText(position)}`],
  });
}
