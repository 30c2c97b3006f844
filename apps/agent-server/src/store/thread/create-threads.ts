import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { THREAD_COLUMNS, wireThread, type ThreadRow, type WireThread } from '../row/thread-row.js';
import type { Scope, WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visibleTo } from '../visible-to.js';

/** A thread under an id that was just made: nothing else can bear it. */
export interface NewThread {
  readonly scope: Scope;
  readonly threadId: string;
  readonly metadata: JsonObject;
}

const CREATE = `
INSERT INTO agentplane.threads (thread_id, metadata)
SELECT n.thread_id, n.metadata::jsonb
FROM unnest($1::uuid[], $2::text[], $3::text[]) AS n(thread_id, metadata, visible)
WHERE n.visible IS NULL
  OR EXISTS (SELECT 1 FROM jsonb_array_elements(n.visible::jsonb) AS a(document) WHERE n.metadata::jsonb @> a.document)
ON CONFLICT DO NOTHING RETURNING ${THREAD_COLUMNS}`;

/**
 * Creates threads of several callers in one statement, each under the scope of its own.
 * @returns those created by their ids; the metadata of the others is outside of their scopes
 */
export async function createThreads(
  scope: WorkerScope,
  sql: Sql,
  threads: readonly NewThread[],
): Promise<ReadonlyMap<string, WireThread>> {
  const { rows } = await sql.asWorker<ThreadRow>(scope, {
    name: 'create-threads',
    text: CREATE,
    values: [
      threads.map(({ threadId }) => threadId),
      threads.map(({ metadata }) => jsonbText(metadata)),
      threads.map((thread) => visibleTo(thread.scope)),
    ],
  });
  return new Map(rows.map((row) => [row.thread_id, wireThread(row)]));
}
