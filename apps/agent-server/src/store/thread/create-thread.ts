import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText } from '../json-text.js';
import { requireAdmitted } from '../metadata/require-admitted.js';
import { THREAD_TEXT, type ThreadText, type ThreadTextRow } from '../row/thread-row.js';
import type { ThreadTtl } from '../row/thread-ttl.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { setThreadTtl } from '../ttl/set-thread-ttl.js';
import { visible } from '../visible.js';
import { findThread } from './find-thread.js';

/**
 * @param ttl its lifetime, if it is made by this; an existing one keeps its own
 * @throws PublicError `conflict` when the id is taken and the caller did not ask for the existing thread, or
 *   may not see it; `forbidden` for metadata outside of the scope
 */
export async function createThread(
  scope: Scope,
  sql: Sql,
  threadId: string,
  metadata: JsonObject,
  ifExists: 'raise' | 'do_nothing',
  ttl?: ThreadTtl,
): Promise<ThreadText> {
  const create = async (inside: Sql): Promise<ThreadText> => {
    const { rows } = await inside.inScope<ThreadTextRow>(scope, {
      name: 'create-thread',
      text: `INSERT INTO agentplane.threads (thread_id, metadata)
        SELECT $2::uuid, $3::jsonb WHERE ${visible('$3::jsonb')}
        ON CONFLICT DO NOTHING RETURNING ${THREAD_TEXT}`,
      values: [threadId, jsonbText(metadata)],
      locks: threadId,
    });
    if (rows[0]) {
      if (ttl) await setThreadTtl(scope, inside, threadId, ttl);
      return rows[0].thread;
    }
    await requireAdmitted(scope, inside, metadata, `Thread ${threadId}`);
    const existing = ifExists === 'do_nothing' ? await findThread(scope, inside, threadId) : undefined;
    if (existing === undefined) throw new PublicError('conflict', `Thread ${threadId} exists already`);
    return existing;
  };
  return ttl ? sql.transaction(scope, create, { locks: threadId }) : create(sql);
}
