import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { fitsRow, tooLarge } from '../document-bytes.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * Merges metadata into the last checkpoint of a thread; answers true when there is one.
 * @throws PublicError `too_large`
 */
export async function patchCheckpoint(
  scope: Scope,
  sql: Sql,
  threadId: string,
  metadata: JsonObject,
): Promise<boolean> {
  const { rows } = await sql.inScope<{ fits: boolean }>(scope, {
    text: `WITH last AS (
        SELECT c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.metadata || $3::jsonb AS merged
        FROM agentplane.checkpoints c
        WHERE c.thread_id = $2::text AND c.checkpoint_ns = '' AND c.checkpoint_id = (
            SELECT max(l.checkpoint_id) FROM agentplane.checkpoints l
            WHERE l.thread_id = $2::text AND l.checkpoint_ns = '')
          AND EXISTS (SELECT 1 FROM agentplane.threads t WHERE t.thread_id = $2::text::uuid AND ${visible('t.metadata')})
        FOR UPDATE),
      changed AS (
        UPDATE agentplane.checkpoints c SET metadata = last.merged FROM last
        WHERE c.thread_id = last.thread_id AND c.checkpoint_ns = last.checkpoint_ns
          AND c.checkpoint_id = last.checkpoint_id AND ${fitsRow('last.merged')})
      SELECT ${fitsRow('last.merged')} AS fits FROM last`,
    values: [threadId, jsonbText(metadata)],
  });
  if (rows[0]?.fits === false) throw tooLarge(`The last checkpoint of thread ${threadId}`);
  return rows.length === 1;
}
