import type { JsonObject } from '#lib/json';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** A thread without the values of graphs, which may be large. */
export interface ThreadHead {
  readonly thread_id: string;
  readonly metadata: JsonObject;
}

export async function findThreadHead(
  scope: Scope,
  sql: Sql,
  threadId: string,
): Promise<ThreadHead | undefined> {
  const { rows } = await sql.inScope<ThreadHead>(scope, {
    name: 'find-thread-head',
    text: `SELECT thread_id, metadata FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId],
  });
  return rows[0];
}
