import type { JsonObject } from '#lib/json';
import type { RunStatus } from './run-row.js';

/** Rules by which a new run enters the queue. */
export interface Queueing {
  /** Treatment of other active runs on its thread. */
  readonly strategy: 'enqueue' | 'reject' | 'interrupt' | 'rollback';
  readonly delayMs: number;
  /** This server has a free place and takes the run at once when nothing is before it. */
  readonly startsHere: boolean;
  /** A reader of this server waits for its output. */
  readonly isWatched: boolean;
  /** Metadata of the thread, which is made when it does not exist; undefined: it must exist. */
  readonly newThread: JsonObject | undefined;
}

/** Outcome of queueing a new run. */
export interface QueuedRun {
  readonly status: Extract<RunStatus, 'pending' | 'running'>;
  readonly createdAt: Date;
  /** True when its thread had no checkpoint yet; undefined: not checked. */
  readonly isThreadEmpty?: boolean;
}
