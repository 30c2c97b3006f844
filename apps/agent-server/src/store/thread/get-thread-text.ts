import { threadNotFound } from '../row/thread-row.js';
import { THREAD_TEXT } from '../row/thread-text.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * A thread as JSON text, as the wire shows it.
 * @throws PublicError `not_found`
 */
export async function getThreadText(scope: Scope, sql: Sql, threadId: string): Promise<string> {
  const { rows } = await sql.inScope<{ thread: string }>(scope, {
    name: 'get-thread-text',
    text: `SELECT ${THREAD_TEXT} AS thread FROM agentplane.threads t WHERE t.thread_id = $2 AND ${visible('t.metadata')}`,
    values: [threadId],
  });
  if (!rows[0]) throw threadNotFound(threadId);
  return rows[0].thread;
}
