import { CHANNEL } from '../channel.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

const WATCH = `UPDATE agentplane.runs SET watchers = array_append(watchers, $2)
  WHERE run_id = $1 AND status IN ('pending', 'running') AND NOT ($2 = ANY(watchers))`;

/** Asks the server at work on the run to relay its output to this one from now on. */
export async function watchRun(
  scope: WorkerScope,
  sql: Sql,
  { serverId }: ServerIdentity,
  runId: string,
): Promise<void> {
  const { rowCount } = await sql.asWorker(scope, { text: WATCH, values: [runId, serverId] });
  if (rowCount)
    await sql.asWorker(scope, {
      text: `SELECT pg_notify('${CHANNEL}', 'watch:' || $1)`,
      values: [runId],
    });
}
