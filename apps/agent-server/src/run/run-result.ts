import type { RunResult } from '../log/event-log.js';
import type { RunRecord } from '../store/row/run-row.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { findThread } from '../store/thread/find-thread.js';

/** What a waiter gets of a run that has ended: its error, or the values of its thread. */
export async function runResult(scope: Scope, sql: Sql, record: RunRecord): Promise<RunResult> {
  if (record.error) return { body: JSON.stringify({ __error__: record.error }) };
  const thread = await findThread(scope, sql, record.wire.thread_id);
  return { body: JSON.stringify(thread?.values ?? null) };
}
