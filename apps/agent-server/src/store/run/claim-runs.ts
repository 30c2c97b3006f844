import { claimable } from '../row/claimable.js';
import { CLAIMED_COLUMNS, claimedRun, type ClaimedRow, type ClaimedRun } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';
import { isUniqueViolation } from '../unique-violation.js';

/** The oldest runs that are due and alone on their thread; rows that another server just claims are passed over. */
const CLAIM = `
WITH due AS (
  SELECT r.run_id FROM agentplane.runs r
  WHERE ${claimable('$4')}
  ORDER BY r.ordinal LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE agentplane.runs r SET status = 'running', attempt = r.attempt + 1, server_id = $2, heartbeat_at = clock_timestamp(),
  started_at = COALESCE(r.started_at, clock_timestamp()),
  lease_until = clock_timestamp() + $3 * interval '1 millisecond', updated_at = clock_timestamp()
FROM due WHERE r.run_id = due.run_id RETURNING ${CLAIMED_COLUMNS}, r.ordinal`;

/** Takes up to `limit` runs that are due, oldest first. */
export async function claimRuns(
  scope: WorkerScope,
  sql: Sql,
  { serverId, leaseMs, graphIds }: ServerIdentity,
  limit: number,
): Promise<ClaimedRun[]> {
  try {
    const { rows } = await sql.asWorker<ClaimedRow & { readonly ordinal: string }>(scope, {
      name: 'claim-runs',
      text: CLAIM,
      values: [limit, serverId, leaseMs, graphIds],
    });
    return rows.sort((a, b) => Number(a.ordinal) - Number(b.ordinal)).map(claimedRun);
  } catch (error) {
    if (isUniqueViolation(error)) return [];
    throw error;
  }
}
