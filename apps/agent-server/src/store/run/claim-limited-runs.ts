import { CLAIMED_COLUMNS, claimedRun, type ClaimedRow, type ClaimedRun } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';
import { isUniqueViolation } from '../unique-violation.js';

/** Limits of running runs at all servers together; 0: no limit. */
export interface RunLimits {
  readonly perAssistant: number;
  readonly perCaller: number;
}

const CLAIM = `SELECT ${CLAIMED_COLUMNS} FROM agentplane.claim_limited_runs($1, $2, $3, $4, $5, $6) r`;

/** Takes up to `limit` runs that are due and within the limits, oldest first. */
export async function claimLimitedRuns(
  scope: WorkerScope,
  sql: Sql,
  { serverId, leaseMs, graphIds }: ServerIdentity,
  limit: number,
  { perAssistant, perCaller }: RunLimits,
): Promise<ClaimedRun[]> {
  try {
    const { rows } = await sql.asWorker<ClaimedRow>(scope, {
      name: 'claim-limited-runs',
      text: CLAIM,
      values: [limit, serverId, leaseMs, graphIds, perAssistant, perCaller],
    });
    return rows.map(claimedRun);
  } catch (error) {
    if (isUniqueViolation(error)) return [];
    throw error;
  }
}
