import type { Pool } from 'pg';
import { CLAIMED_COLUMNS, claimedRun, type CancelAction, type ClaimedRun } from './run-row.js';

/** What a renewal found in the row of a run that is still ours. */
export interface Renewed {
  readonly runId: string;
  readonly cancel: CancelAction | undefined;
  readonly watchers: readonly string[];
}

const RENEW = `
WITH held AS (
  SELECT r.run_id FROM agentplane.runs r JOIN unnest($1::uuid[], $2::int[]) AS h(run_id, attempt)
    ON r.run_id = h.run_id AND r.attempt = h.attempt
  WHERE r.status = 'running' ORDER BY r.run_id FOR NO KEY UPDATE OF r)
UPDATE agentplane.runs r SET heartbeat_at = clock_timestamp(),
  lease_until = clock_timestamp() + $3 * interval '1 millisecond'
FROM held WHERE r.run_id = held.run_id RETURNING r.run_id, r.cancel, r.watchers`;

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

const WORN_OUT = `SELECT ${CLAIMED_COLUMNS} FROM agentplane.runs r
  WHERE r.status = 'running' AND r.lease_until < clock_timestamp() AND r.takeovers >= $1 LIMIT 100`;

/** Leases of runs: ours are renewed, those of servers that fell silent are taken over. Time is the database's. */
export class RunLeases {
  constructor(
    /** The connection that nothing else uses. */
    private readonly pool: Pool,
    private readonly serverId: string,
    private readonly leaseMs: number,
    private readonly maxTakeovers: number,
    /** Graphs of this revision. */
    private readonly graphIds: readonly string[],
  ) {}

  /** Runs missing in the answer are ours no more. */
  async renew(runs: readonly ClaimedRun[]): Promise<Renewed[]> {
    const { rows } = await this.pool.query<{
      run_id: string;
      cancel: CancelAction | null;
      watchers: string[];
    }>({
      name: 'renew-leases',
      text: RENEW,
      values: [runs.map((run) => run.runId), runs.map((run) => run.attempt), this.leaseMs],
    });
    return rows.map((row) => ({
      runId: row.run_id,
      cancel: row.cancel ?? undefined,
      watchers: row.watchers,
    }));
  }

  /** Takes up to `limit` runs of dead servers as their next attempt. */
  async takeOver(limit: number): Promise<ClaimedRun[]> {
    const { rows } = await this.pool.query({
      name: 'take-over-runs',
      text: TAKE_OVER,
      values: [limit, this.serverId, this.leaseMs, this.maxTakeovers, this.graphIds],
    });
    return rows.map(claimedRun);
  }

  /** Runs that ended their server so often that they are to be failed instead. */
  async listWornOut(): Promise<ClaimedRun[]> {
    const { rows } = await this.pool.query(WORN_OUT, [this.maxTakeovers]);
    return rows.map(claimedRun);
  }
}
