import { claimable } from '../row/claimable.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

const COUNT = `SELECT count(*)::int AS count FROM agentplane.runs r WHERE ${claimable('$1')}`;

/** Number of runs that would begin at once if this server had places for them; for metrics. */
export async function countQueuedRuns(
  scope: WorkerScope,
  sql: Sql,
  { graphIds }: ServerIdentity,
): Promise<number> {
  const { rows } = await sql.asWorker<{ count: number }>(scope, { text: COUNT, values: [graphIds] });
  return rows[0]?.count ?? 0;
}
