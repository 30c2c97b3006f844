import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** The values of a thread as JSON text, as its graph wrote them; undefined without any. */
export async function findValues(scope: Scope, sql: Sql, threadId: string): Promise<string | undefined> {
  const { rows } = await sql.inScope<{ values: string | null }>(scope, {
    name: 'find-values',
    text: `SELECT values::text AS values FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId],
  });
  return rows[0]?.values ?? undefined;
}
