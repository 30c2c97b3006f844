import { threadNotFound } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { findThreadHead, type ThreadHead } from './find-thread-head.js';

/** @throws PublicError `not_found` */
export async function getThreadHead(scope: Scope, sql: Sql, threadId: string): Promise<ThreadHead> {
  const thread = await findThreadHead(scope, sql, threadId);
  if (!thread) throw threadNotFound(threadId);
  return thread;
}
