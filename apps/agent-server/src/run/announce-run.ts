import { notifyThread } from '../store/run/notify-thread.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { ThreadWakes } from './thread-wakes.js';

/** Tells readers of a thread, here and at other servers, that it has a new run. */
export async function announceRun(sql: Sql, wakes: ThreadWakes, threadId: string): Promise<void> {
  wakes.wake(threadId);
  await notifyThread(WORKER, sql, threadId);
}
