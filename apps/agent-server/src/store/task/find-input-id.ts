import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** The id of the message that a run was given, without reading its input. */
export async function findInputId(scope: Scope, sql: Sql, runId: string): Promise<string | undefined> {
  const { rows } = await sql.inScope<{ id: string | null }>(scope, {
    scans: 'Reading the id of a message', // inputs may be large
    text: `SELECT agentplane.searchable(r.kwargs) #>> '{input,messages,0,id}' AS id FROM agentplane.runs r
      WHERE r.run_id = $2 AND ${RUN_IS_VISIBLE}`,
    values: [runId],
  });
  return rows[0]?.id ?? undefined;
}
