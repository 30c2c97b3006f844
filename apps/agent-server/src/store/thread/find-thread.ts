import { THREAD_TEXT, type ThreadText, type ThreadTextRow } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

export async function findThread(scope: Scope, sql: Sql, threadId: string): Promise<ThreadText | undefined> {
  const { rows } = await sql.inScope<ThreadTextRow>(scope, {
    name: 'find-thread',
    text: `SELECT ${THREAD_TEXT} FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId],
  });
  return rows[0]?.thread;
}
