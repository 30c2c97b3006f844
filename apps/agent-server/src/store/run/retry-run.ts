import { CLAIMED_COLUMNS, claimedRun, type ClaimedRow, type ClaimedRun } from '../row/claimed-run.js';
import type { WorkedRun } from '../row/worked-run.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

const RETRY = `
UPDATE agentplane.runs r SET attempt = r.attempt + 1, takeovers = r.takeovers + $3,
  heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + $5 * interval '1 millisecond',
  updated_at = clock_timestamp(), worked_ms = $6
WHERE r.run_id = $1 AND r.attempt = $2 AND r.status = 'running' AND r.takeovers + $3 <= $4
RETURNING ${CLAIMED_COLUMNS}`;

/**
 * Begins the next attempt of a run at this server, after its process ended.
 * @param isCharged the run ended its process, which may happen as often as it may lose its server
 * @returns undefined when it may not be tried again, or when another attempt has it
 */
export async function retryRun(
  scope: WorkerScope,
  sql: Sql,
  { leaseMs, maxTakeovers }: ServerIdentity,
  { runId, attempt, workedMs }: WorkedRun,
  isCharged: boolean,
): Promise<ClaimedRun | undefined> {
  const { rows } = await sql.asWorker<ClaimedRow>(scope, {
    text: RETRY,
    values: [runId, attempt, isCharged ? 1 : 0, maxTakeovers, leaseMs, workedMs],
  });
  return rows.map(claimedRun)[0];
}
