import { ENDING_COLUMNS, claimedRun, type ClaimedRow, type ClaimedRun } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

// Runs of every graph, unlike those that are taken over: failing a run does not need its graph, and the
// revision that has it may have no server any more.
const WORN_OUT = `SELECT ${ENDING_COLUMNS} FROM agentplane.runs r
  WHERE r.status = 'running' AND r.lease_until < clock_timestamp() AND r.takeovers >= $1 LIMIT 100`;

/** Runs that ended their server too often: they are failed instead of taken over. */
export async function listWornOutRuns(
  scope: WorkerScope,
  sql: Sql,
  { maxTakeovers }: ServerIdentity,
): Promise<ClaimedRun[]> {
  const { rows } = await sql.asWorker<ClaimedRow>(scope, { text: WORN_OUT, values: [maxTakeovers] });
  return rows.map(claimedRun);
}
