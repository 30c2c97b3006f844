import { CLAIMED_COLUMNS, claimedRun, type ClaimedRow, type ClaimedRun } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

const TAKE_OVER = `
WITH dead AS (
  SELECT r.run_id FROM agentplane.runs r
  WHERE r.status = 'running' AND r.lease_until < clock_timestamp() AND r.takeovers < $4
    AND r.graph_id = ANY($5)
  ORDER BY r.lease_until LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE agentplane.runs r SET attempt = r.attempt + 1, takeovers = r.takeovers + 1, server_id = $2,
  heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + $3 * interval '1 millisecond',
  updated_at = clock_timestamp()
FROM dead WHERE r.run_id = dead.run_id RETURNING ${CLAIMED_COLUMNS}`;

/** Takes up to `limit` runs whose leases have run out, as their next attempt. */
export async function takeOverRuns(
  scope: WorkerScope,
  sql: Sql,
  { serverId, leaseMs, maxTakeovers, graphIds }: ServerIdentity,
  limit: number,
): Promise<ClaimedRun[]> {
  const { rows } = await sql.asWorker<ClaimedRow>(scope, {
    name: 'take-over-runs',
    text: TAKE_OVER,
    values: [limit, serverId, leaseMs, maxTakeovers, graphIds],
  });
  return rows.map(claimedRun);
}
