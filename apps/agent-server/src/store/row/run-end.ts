import type { RunStatus } from './run-row.js';

/** End of a run on a thread. */
export interface RunEnd {
  readonly status: Extract<RunStatus, 'success' | 'error' | 'interrupted' | 'timeout'>;
  readonly threadStatus: 'idle' | 'interrupted' | 'error';
  readonly error?: { readonly error: string; readonly message: string };
  /** JSON text of the thread's values; undefined leaves them as they are. */
  readonly values?: string;
  /** JSON text of lists of questions, by the tasks that ask. */
  readonly interrupts?: string;
  /** Forget the run and its checkpoints. */
  readonly isRollback?: boolean;
}

export interface Acceptance {
  /** False: a newer attempt has the run, and nothing was written. */
  readonly isAccepted: boolean;
  /** Another run waits on the thread. */
  readonly hasNext: boolean;
}
