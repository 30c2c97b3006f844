import { threadNotFound } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/**
 * Removes a thread with its runs and its state; a run in progress loses its row and is thereby fenced.
 * @throws PublicError `not_found`
 */
export async function removeThread(scope: Scope, sql: Sql, threadId: string): Promise<void> {
  const { rows } = await sql.inScope<{ removed: boolean }>(scope, {
    name: 'remove-thread',
    text: 'SELECT removed FROM agentplane.remove_thread($1::jsonb[], $2)',
    values: [threadId],
    locks: threadId,
    takesTurn: true,
  });
  if (!rows[0]?.removed) throw threadNotFound(threadId);
}
