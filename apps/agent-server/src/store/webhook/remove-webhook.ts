import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** Forgets the call for a run, with its body. @returns true when there was one */
export async function removeWebhook(scope: Scope, sql: Sql, runId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.webhooks r WHERE r.run_id = $2 AND ${RUN_IS_VISIBLE}`,
    values: [runId],
  });
  return rowCount === 1;
}
