import type { CancelAction } from '../row/run-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Way in which a run was asked to end; undefined when it was not. */
export async function findCancel(
  scope: WorkerScope,
  sql: Sql,
  runId: string,
): Promise<CancelAction | undefined> {
  const { rows } = await sql.asWorker<{ cancel: CancelAction | null }>(scope, {
    text: 'SELECT cancel FROM agentplane.runs WHERE run_id = $1',
    values: [runId],
  });
  return rows[0]?.cancel ?? undefined;
}
