import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Answers whether there was one to remove; its versions go with it. */
export async function removeAssistant(scope: Scope, sql: Sql, assistantId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.assistants WHERE assistant_id = $2 AND NOT system AND ${visible('metadata')}`,
    values: [assistantId],
  });
  return rowCount === 1;
}
