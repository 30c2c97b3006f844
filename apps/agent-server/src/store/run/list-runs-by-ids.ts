import { RUN_COLUMNS, runRecord, type RunRecord, type RunRow } from '../row/run-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

export async function listRunsByIds(
  scope: WorkerScope,
  sql: Sql,
  runIds: readonly string[],
): Promise<RunRecord[]> {
  const { rows } = await sql.asWorker<RunRow>(scope, {
    text: `SELECT ${RUN_COLUMNS} FROM agentplane.runs r WHERE r.run_id = ANY($1)`,
    values: [runIds],
  });
  return rows.map(runRecord);
}
