import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { WireThread } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { getThread } from '../thread/get-thread.js';
import { ThreadSaver } from './thread-saver.js';

/** A thread and its checkpoints. */
export interface OpenThread {
  readonly thread: WireThread;
  /** Of this thread alone. */
  readonly saver: BaseCheckpointSaver;
}

/**
 * Opens the checkpoints of a thread, once the scope has been seen to reach it.
 * @throws PublicError `not_found`
 */
export async function openThreadState(scope: Scope, sql: Sql, threadId: string): Promise<OpenThread> {
  const thread = await getThread(scope, sql, threadId);
  return { thread, saver: new ThreadSaver(sql.poolOfCheckpointer(scope), thread.thread_id) };
}
