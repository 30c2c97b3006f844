import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * Start of a run: the checkpoint before its first one, null at the beginning of a thread; undefined when it
 * has none.
 */
export async function findRunStart(
  scope: Scope,
  sql: Sql,
  threadId: string,
  runId: string,
): Promise<{ readonly checkpointId: string | null } | undefined> {
  const { rows } = await sql.inScope<{ checkpointId: string | null }>(scope, {
    text: `SELECT c.parent_checkpoint_id AS "checkpointId" FROM agentplane.checkpoints c
      JOIN agentplane.threads t ON t.thread_id = $2::text::uuid
      WHERE c.thread_id = $2::text AND c.checkpoint_ns = '' AND c.metadata ->> 'run_id' = $3 AND ${visible('t.metadata')}
      ORDER BY c.checkpoint_id LIMIT 1`,
    values: [threadId, runId],
  });
  return rows[0];
}
