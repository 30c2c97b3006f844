import type { RunStatus } from './run-row.js';

/** How a new run enters the queue. */
export interface Queueing {
  /** What becomes of other active runs on its thread. */
  readonly strategy: 'enqueue' | 'reject' | 'interrupt' | 'rollback';
  readonly delayMs: number;
  /** This server has a free place and takes the run at once when nothing is before it. */
  readonly startsHere: boolean;
  /** A reader of this server waits for its output. */
  readonly isWatched: boolean;
  /** Make the thread when it does not exist. */
  readonly createsThread: boolean;
}

/** What became of a new run. */
export interface QueuedRun {
  readonly status: Extract<RunStatus, 'pending' | 'running'>;
  readonly createdAt: Date;
}
