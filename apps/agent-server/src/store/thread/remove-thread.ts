import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';
import { lockThread } from './lock-thread.js';

/** What belongs to a thread. The runs first: what a run at work writes meanwhile waits and then finds itself fenced. */
const OWNED = [
  ['runs', 't.thread_id'],
  ['webhooks', 't.thread_id'],
  ['crons', 't.thread_id'],
  ['checkpoints', 't.thread_id::text'],
  ['checkpoint_blobs', 't.thread_id::text'],
  ['checkpoint_writes', 't.thread_id::text'],
] as const;

/**
 * Removes a thread with its runs and its state; a run at work loses its row and is thereby fenced.
 * @throws PublicError `not_found`
 */
export async function removeThread(scope: Scope, sql: Sql, threadId: string): Promise<void> {
  const remove = async (inside: Sql): Promise<void> => {
    await lockThread(scope, inside, threadId);
    await inside.inScope(scope, {
      text: `DELETE FROM agentplane.run_events e USING agentplane.runs r, agentplane.threads t
        WHERE t.thread_id = $2 AND r.thread_id = t.thread_id AND e.run_id = r.run_id AND ${visible('t.metadata')}`,
      values: [threadId],
    });
    for (const [table, owner] of OWNED)
      await inside.inScope(scope, {
        text: `DELETE FROM agentplane.${table} o USING agentplane.threads t
          WHERE t.thread_id = $2 AND o.thread_id = ${owner} AND ${visible('t.metadata')}`,
        values: [threadId],
      });
    await inside.inScope(scope, {
      text: `DELETE FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
      values: [threadId],
    });
  };
  await sql.transaction(remove, { locks: threadId });
}
