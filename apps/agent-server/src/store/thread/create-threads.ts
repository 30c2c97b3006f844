import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import type { Scope, WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visibleTo } from '../visible-to.js';

/** A thread under an id that was just made: nothing else can bear it. */
export interface NewThread {
  readonly scope: Scope;
  readonly threadId: string;
  readonly metadata: JsonObject;
}

/**
 * Creates threads of several callers in one statement, each under its own scope.
 * @returns those created by their ids, as JSON text; the metadata of the others is outside of their scopes
 */
export async function createThreads(
  scope: WorkerScope,
  sql: Sql,
  threads: readonly NewThread[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql.asWorker<{ created: string; thread: string }>(scope, {
    name: 'create-threads',
    text: 'SELECT created, thread FROM agentplane.create_threads($1, $2, $3)',
    values: [
      threads.map(({ threadId }) => threadId),
      threads.map(({ metadata }) => jsonbText(metadata)),
      threads.map((thread) => visibleTo(thread.scope)),
    ],
  });
  return new Map(rows.map(({ created, thread }) => [created, thread]));
}
