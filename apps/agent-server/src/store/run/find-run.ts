import { RUN_FIELDS, runColumns, type RunRow } from '../row/run-row.js';
import type { Scope } from '../scope.js';
import { smallText } from '../small-text.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/**
 * @param place of the run; a thread that it must be on, undefined for any
 * @param mayBeLarge otherwise large kwargs are null
 */
export async function findRun(
  scope: Scope,
  sql: Sql,
  { runId, threadId }: { readonly runId: string; readonly threadId?: string | undefined },
  mayBeLarge: boolean,
): Promise<RunRow | undefined> {
  const { rows } = await sql.inScope<RunRow>(scope, {
    text: `SELECT ${runColumns(RUN_FIELDS, (text) => smallText(text, '$4'))} FROM agentplane.runs r
      WHERE r.run_id = $2 AND ($3::uuid IS NULL OR r.thread_id = $3) AND ${RUN_IS_VISIBLE}`,
    values: [runId, threadId ?? null, mayBeLarge],
  });
  return rows[0];
}
