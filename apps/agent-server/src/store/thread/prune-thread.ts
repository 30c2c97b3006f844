import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

const REACHED = `EXISTS (SELECT 1 FROM agentplane.threads t WHERE t.thread_id = $2::text::uuid AND ${visible('t.metadata')})`;
const LATEST = `SELECT DISTINCT ON (checkpoint_ns) checkpoint_ns, checkpoint_id, checkpoint FROM agentplane.checkpoints
  WHERE thread_id = $2::text ORDER BY checkpoint_ns, checkpoint_id DESC`;

/** In this order: a value goes once no checkpoint names its version, a checkpoint last. */
const STATEMENTS = [
  `DELETE FROM agentplane.checkpoint_writes o WHERE o.thread_id = $2::text AND ${REACHED}
    AND (o.checkpoint_ns, o.checkpoint_id) NOT IN (SELECT l.checkpoint_ns, l.checkpoint_id FROM (${LATEST}) l)`,
  `DELETE FROM agentplane.checkpoint_blobs o WHERE o.thread_id = $2::text AND ${REACHED}
    AND NOT EXISTS (SELECT 1 FROM (${LATEST}) l
      WHERE l.checkpoint_ns = o.checkpoint_ns AND l.checkpoint -> 'channel_versions' ->> o.channel = o.version)`,
  `DELETE FROM agentplane.checkpoints o WHERE o.thread_id = $2::text AND ${REACHED}
    AND (o.checkpoint_ns, o.checkpoint_id) NOT IN (SELECT l.checkpoint_ns, l.checkpoint_id FROM (${LATEST}) l)`,
];

/**
 * Leaves a thread the last checkpoint of each of its graphs. The thread must be locked, and no run of it at work.
 * @returns whether there was anything older
 */
export async function pruneThread(scope: Scope, sql: Sql, threadId: string): Promise<boolean> {
  let removed = 0;
  for (const text of STATEMENTS)
    removed += (await sql.inScope(scope, { text, values: [threadId] })).rowCount ?? 0;
  return removed > 0;
}
