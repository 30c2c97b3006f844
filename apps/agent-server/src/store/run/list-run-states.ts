import { ENDED_STATUSES, type RunError, type RunStatus } from '../row/run-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Progress of a run. */
export interface RunState {
  readonly runId: string;
  readonly threadId: string;
  readonly hasEnded: boolean;
  readonly attempt: number;
  readonly error: RunError | undefined;
}

interface StateRow {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly error: RunError | null;
}

/** Progress of runs, without their inputs: hundreds of them may wait with inputs of megabytes. */
export async function listRunStates(
  scope: WorkerScope,
  sql: Sql,
  runIds: readonly string[],
): Promise<RunState[]> {
  const { rows } = await sql.asWorker<StateRow>(scope, {
    name: 'list-run-states',
    text: `SELECT r.run_id, r.thread_id, r.status, r.attempt, r.error FROM agentplane.runs r WHERE r.run_id = ANY($1)`,
    values: [runIds],
  });
  return rows.map(({ run_id: runId, thread_id: threadId, status, attempt, error }) => ({
    runId,
    threadId,
    attempt,
    hasEnded: ENDED_STATUSES.includes(status),
    error: error ?? undefined,
  }));
}
