import { CHANNEL } from '../channel.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Wakes the servers whose readers follow a thread: it has a new run. */
export async function notifyThread(scope: WorkerScope, sql: Sql, threadId: string): Promise<void> {
  await sql.asWorker(scope, { text: `SELECT pg_notify('${CHANNEL}', 'thread:' || $1)`, values: [threadId] });
}
