import { PublicError } from '#lib/errors';
import { findRunHead, type RunHead } from '../store/run/find-run-head.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';

export function runNotFound(runId: string): PublicError {
  return new PublicError('not_found', `Run ${runId} not found`);
}

/** @throws PublicError `not_found` */
export async function getRunHead(
  scope: Scope,
  sql: Sql,
  runId: string,
  threadId: string | undefined,
): Promise<RunHead> {
  const head = await findRunHead(scope, sql, runId, threadId);
  if (!head) throw runNotFound(runId);
  return head;
}
