import { threadNotFound, type ThreadText } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { findThread } from './find-thread.js';

/** @throws PublicError `not_found` */
export async function getThread(scope: Scope, sql: Sql, threadId: string): Promise<ThreadText> {
  const thread = await findThread(scope, sql, threadId);
  if (thread === undefined) throw threadNotFound(threadId);
  return thread;
}
