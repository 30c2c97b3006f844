import { PublicError } from '#lib/errors';
import type { RunResult } from '../log/event-log.js';
import type { RunError } from '../store/row/run-row.js';
import { findRunHead, type RunHead } from '../store/statement/runs.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { findSmallValues } from '../store/statement/threads.js';

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

/** Result for a waiter of a run that has ended: its error, or the values of its thread, which may have none. */
export async function runResult(
  scope: Scope,
  sql: Sql,
  { threadId, error }: { readonly threadId: string; readonly error: RunError | undefined },
): Promise<RunResult> {
  if (error) return { body: JSON.stringify({ __error__: error }) };
  const values = await sql.lookIfSmall(scope, (mayBeLarge) =>
    findSmallValues(scope, sql, threadId, mayBeLarge),
  );
  return { body: values ?? '{}' };
}
