import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText } from '../json-text.js';
import { fitsRow, requireFit } from '../document-bytes.js';
import { requireAdmitted } from '../metadata/require-admitted.js';
import { THREAD_TEXT, type ThreadText, type ThreadTextRow } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';
import { getThreadHead } from './get-thread-head.js';

/**
 * Merges metadata.
 * @throws PublicError `not_found`; `forbidden` when the thread would leave the scope; `too_large`
 */
export async function patchThread(
  scope: Scope,
  sql: Sql,
  threadId: string,
  metadata: JsonObject,
): Promise<ThreadText> {
  const { rows } = await sql.inScope<ThreadTextRow>(scope, {
    text: `UPDATE agentplane.threads SET metadata = metadata || $3::jsonb, updated_at = clock_timestamp()
      WHERE thread_id = $2 AND ${visible('metadata')} AND ${visible('(metadata || $3::jsonb)')}
        AND ${fitsRow('metadata || $3::jsonb')}
      RETURNING ${THREAD_TEXT}`,
    values: [threadId, jsonbText(metadata)],
    locks: threadId,
  });
  if (rows[0]) return rows[0].thread;
  const before = await getThreadHead(scope, sql, threadId);
  const merged = { ...before.metadata, ...metadata };
  await requireAdmitted(scope, sql, merged, `Thread ${threadId}`);
  requireFit(merged, `Thread ${threadId}`);
  throw new PublicError('conflict', `Thread ${threadId} was changed at the same time; retry`);
}
