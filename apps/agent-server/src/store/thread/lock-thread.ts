import { threadNotFound } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * Keeps runs from beginning on the thread until the transaction ends.
 * @throws PublicError `not_found`
 */
export async function lockThread(scope: Scope, sql: Sql, threadId: string): Promise<void> {
  const { rows } = await sql.inScope(scope, {
    text: `SELECT thread_id FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')} FOR UPDATE`,
    values: [threadId],
  });
  if (!rows[0]) throw threadNotFound(threadId);
}
