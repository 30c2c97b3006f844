import { INPUT, type ClaimedRun } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/**
 * Input of an attempt, as JSON text that this server does not parse; undefined once another attempt has the
 * run.
 */
export async function readInput(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: ClaimedRun,
): Promise<string | undefined> {
  const { rows } = await sql.asWorker<{ input: string }>(scope, {
    text: `SELECT ${INPUT} AS input FROM agentplane.runs r WHERE r.run_id = $1 AND r.attempt = $2 AND r.status = 'running'`,
    values: [runId, attempt],
  });
  return rows[0]?.input;
}
