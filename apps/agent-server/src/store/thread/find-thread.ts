import { THREAD_COLUMNS, wireThread, type ThreadRow, type WireThread } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

export async function findThread(scope: Scope, sql: Sql, threadId: string): Promise<WireThread | undefined> {
  const { rows } = await sql.inScope<ThreadRow>(scope, {
    name: 'find-thread',
    text: `SELECT ${THREAD_COLUMNS} FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId],
  });
  return rows[0] && wireThread(rows[0]);
}
