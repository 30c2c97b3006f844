import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { THREAD_TEXT, threadNotFound, type ThreadText, type ThreadTextRow } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Tables of a thread's state, with the columns that a copy takes over as they are. */
const STATE = [
  ['checkpoint_blobs', 'checkpoint_ns, channel, version, type, blob'],
  ['checkpoint_writes', 'checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path'],
] as const;

/**
 * Makes a thread with the state of another and its own metadata, as one statement sees it: a run in progress
 * writes only to the first. The runs stay with the first; so do the ids of their writes, so that a rollback
 * there finds nothing here.
 * @throws PublicError `not_found`
 */
export async function copyThread(
  scope: Scope,
  sql: Sql,
  threadId: string,
  copy: { readonly thread_id: string; readonly metadata: JsonObject },
): Promise<ThreadText> {
  const from = `FROM agentplane.threads t JOIN`;
  const ofThread = `WHERE t.thread_id = $2::uuid AND ${visible('t.metadata')}`;
  const copies = STATE.map(
    ([table, columns]) => `${table}_copied AS (
        INSERT INTO agentplane.${table} (thread_id, ${columns})
        SELECT $3::text, ${columns.replace(/(\w+)/g, 'o.$1')} ${from} agentplane.${table} o ON o.thread_id = t.thread_id::text ${ofThread})`,
  );
  const { rows } = await sql.inScope<ThreadTextRow>(scope, {
    scans: 'Copying the thread', // all its states may be gigabytes
    copies: true,
    text: `WITH ${copies.join(', ')}, checkpoints_copied AS (
        INSERT INTO agentplane.checkpoints
          (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
        SELECT $3::text, o.checkpoint_ns, o.checkpoint_id, o.parent_checkpoint_id, o.type, o.checkpoint,
          o.metadata || CASE WHEN o.metadata ? 'thread_id' THEN jsonb_build_object('thread_id', $3::text) ELSE '{}' END
        ${from} agentplane.checkpoints o ON o.thread_id = t.thread_id::text ${ofThread})
      INSERT INTO agentplane.threads
        (thread_id, metadata, status, resting_status, config, values, interrupts, error, state_updated_at)
      SELECT $3::text::uuid, $4::jsonb, CASE t.status WHEN 'busy' THEN t.resting_status ELSE t.status END,
        t.resting_status, t.config, t.values, t.interrupts, t.error, t.state_updated_at
      FROM agentplane.threads t ${ofThread} RETURNING ${THREAD_TEXT}`,
    values: [threadId, copy.thread_id, jsonbText(copy.metadata)],
  });
  if (!rows[0]) throw threadNotFound(threadId);
  return rows[0].thread;
}
