import { positionText, type Position } from '../../log/position.js';
import { CHANNEL } from '../channel.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

const WATCH = `UPDATE agentplane.runs SET streamed = true,
  watchers = CASE WHEN $2 = ANY(watchers) THEN watchers ELSE array_append(watchers, $2) END
  WHERE run_id = $1 AND status IN ('pending', 'running')`;

/**
 * Asks the server that has the run to relay its output to this one from now on.
 * @param after position after which events are repeated, as far as they are kept, also when the run has ended
 */
export async function watchRun(
  scope: WorkerScope,
  sql: Sql,
  { serverId }: ServerIdentity,
  runId: string,
  after: Position | undefined,
): Promise<void> {
  await sql.asWorker(scope, { text: WATCH, values: [runId, serverId] });
  await sql.asWorker(scope, {
    text: `SELECT pg_notify('${CHANNEL}', 'watch:' || $1)`,
    values: [`${runId}:${after ? positionText(after) : ''}:${serverId}`],
  });
}
