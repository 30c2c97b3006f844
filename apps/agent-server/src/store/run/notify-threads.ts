import { CHANNEL } from '../channel.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Wakes the servers whose readers follow one of these threads: each has a new run. */
export async function notifyThreads(
  scope: WorkerScope,
  sql: Sql,
  threadIds: readonly string[],
): Promise<void> {
  await sql.asWorker(scope, {
    text: `SELECT pg_notify('${CHANNEL}', 'thread:' || id) FROM unnest($1::text[]) AS id`,
    values: [threadIds],
  });
}
