import type { JsonObject } from '#lib/json';
import type { Scope } from '../src/store/scope.js';
import type { Sql } from '../src/store/sql.js';
import { findThread } from '../src/store/statement/threads.js';

/** A thread as the wire shows it, parsed. */
export async function storedThread(
  scope: Scope,
  sql: Sql,
  threadId: string,
): Promise<JsonObject | undefined> {
  const thread = await findThread(scope, sql, threadId);
  return thread === undefined ? undefined : (JSON.parse(thread) as JsonObject);
}
