import type { WorkedRun } from '../row/worked-run.js';
import type { CancelAction } from '../row/run-row.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

/** State that a renewal found in the row of a run that is still ours. */
export interface Renewed {
  readonly runId: string;
  readonly cancel: CancelAction | undefined;
  readonly watchers: readonly string[];
}

interface RenewedRow {
  readonly run_id: string;
  readonly cancel: CancelAction | null;
  readonly watchers: readonly string[];
}

const RENEW = `
WITH held AS (
  SELECT r.run_id, h.worked_ms FROM agentplane.runs r JOIN unnest($1::uuid[], $2::int[], $4::float8[]) AS h(run_id, attempt, worked_ms)
    ON r.run_id = h.run_id AND r.attempt = h.attempt
  WHERE r.status = 'running' ORDER BY r.run_id FOR NO KEY UPDATE OF r)
UPDATE agentplane.runs r SET heartbeat_at = clock_timestamp(),
  lease_until = clock_timestamp() + $3 * interval '1 millisecond', worked_ms = held.worked_ms
FROM held WHERE r.run_id = held.run_id RETURNING r.run_id, r.cancel, r.watchers`;

/** Renews the leases of our runs, by the database's clock. Runs missing in the answer are ours no more. */
export async function renewLeases(
  scope: WorkerScope,
  sql: Sql,
  { leaseMs }: ServerIdentity,
  runs: readonly WorkedRun[],
): Promise<Renewed[]> {
  const { rows } = await sql.asWorker<RenewedRow>(scope, {
    name: 'renew-leases',
    text: RENEW,
    values: [
      runs.map((run) => run.runId),
      runs.map((run) => run.attempt),
      leaseMs,
      runs.map((run) => run.workedMs),
    ],
  });
  return rows.map((row) => ({
    runId: row.run_id,
    cancel: row.cancel ?? undefined,
    watchers: row.watchers,
  }));
}
