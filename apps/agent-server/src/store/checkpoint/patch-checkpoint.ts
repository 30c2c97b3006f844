import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Merges metadata into the last checkpoint of a thread; answers whether there is one. */
export async function patchCheckpoint(
  scope: Scope,
  sql: Sql,
  threadId: string,
  metadata: JsonObject,
): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `UPDATE agentplane.checkpoints c SET metadata = c.metadata || $3::jsonb
      WHERE c.thread_id = $2::text AND c.checkpoint_ns = '' AND c.checkpoint_id = (
          SELECT max(l.checkpoint_id) FROM agentplane.checkpoints l
          WHERE l.thread_id = $2::text AND l.checkpoint_ns = '')
        AND EXISTS (SELECT 1 FROM agentplane.threads t WHERE t.thread_id = $2::text::uuid AND ${visible('t.metadata')})`,
    values: [threadId, jsonbText(metadata)],
  });
  return rowCount === 1;
}
