import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** A state after a change from outside of its runs. */
export interface ChangedState {
  /** JSON text. */
  readonly values: string;
  readonly status: 'idle' | 'interrupted';
  /** JSON text of lists of questions, by the tasks that ask. */
  readonly interrupts: string;
}

/** Shows a changed state in the thread's own row. */
export async function setThreadState(
  scope: Scope,
  sql: Sql,
  threadId: string,
  state: ChangedState,
): Promise<void> {
  await sql.inScope(scope, {
    text: `UPDATE agentplane.threads SET values = $3, status = $4, resting_status = $4, interrupts = $5, error = NULL,
      updated_at = clock_timestamp(), state_updated_at = clock_timestamp()
      WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId, state.values, state.status, state.interrupts],
  });
}
