import { RUN_COLUMNS, runRecord, type RunRecord, type RunRow } from '../row/run-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** @param threadId the run must be on this thread; undefined for any */
export async function findRun(
  scope: Scope,
  sql: Sql,
  runId: string,
  threadId?: string,
): Promise<RunRecord | undefined> {
  const { rows } = await sql.inScope<RunRow>(scope, {
    text: `SELECT ${RUN_COLUMNS} FROM agentplane.runs r
      WHERE r.run_id = $2 AND ($3::uuid IS NULL OR r.thread_id = $3) AND ${RUN_IS_VISIBLE}`,
    values: [runId, threadId ?? null],
  });
  return rows[0] && runRecord(rows[0]);
}
