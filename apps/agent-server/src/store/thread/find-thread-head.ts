import type { WireThread } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** A thread without its values, which may be large. */
export type ThreadHead = Pick<WireThread, 'thread_id' | 'metadata' | 'interrupts'>;

export async function findThreadHead(
  scope: Scope,
  sql: Sql,
  threadId: string,
): Promise<ThreadHead | undefined> {
  const { rows } = await sql.inScope<ThreadHead>(scope, {
    name: 'find-thread-head',
    text: `SELECT thread_id, metadata, interrupts FROM agentplane.threads
      WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId],
  });
  return rows[0];
}
