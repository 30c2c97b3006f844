import { threadNotFound, wireThread, type ThreadRow } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

type TextRow = Omit<ThreadRow, 'values'> & { readonly values: string | null };

/**
 * A thread as JSON text, its values as the graph wrote them: they are not parsed.
 * @param more members that follow those of the thread
 * @throws PublicError `not_found`
 */
export async function getThreadText(scope: Scope, sql: Sql, threadId: string, more: object): Promise<string> {
  const { rows } = await sql.inScope<TextRow>(scope, {
    name: 'get-thread-text',
    text: `SELECT thread_id, created_at, updated_at, state_updated_at, metadata, status, config,
        values::text AS values, interrupts, error
      FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId],
  });
  if (!rows[0]) throw threadNotFound(threadId);
  const { values, interrupts, error, ...head } = wireThread(rows[0]);
  const [before, after] = [JSON.stringify(head), JSON.stringify({ interrupts, error, ...more })];
  return `${before.slice(0, -1)},"values":${String(values ?? 'null')},${after.slice(1)}`;
}
