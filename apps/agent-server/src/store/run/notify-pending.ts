import { CHANNEL } from '../channel.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Wakes the servers: a run may be due. */
export async function notifyPending(scope: WorkerScope, sql: Sql): Promise<void> {
  await sql.asWorker(scope, { text: `SELECT pg_notify('${CHANNEL}', 'pending:')` });
}
