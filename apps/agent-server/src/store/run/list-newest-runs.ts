import type { RunStatus } from '../row/run-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** A run of a thread and its place among all. */
export interface NewestRun {
  readonly runId: string;
  readonly ordinal: bigint;
  readonly status: RunStatus;
  readonly attempt: number;
}

const MAX_RUNS = 200;

/** The newest runs of a thread after a place, in the order in which they were made. */
export async function listNewestRuns(
  scope: Scope,
  sql: Sql,
  threadId: string,
  after: bigint,
): Promise<NewestRun[]> {
  const { rows } = await sql.inScope<{ run_id: string; ordinal: string; status: RunStatus; attempt: number }>(
    scope,
    {
      text: `SELECT r.run_id, r.ordinal, r.status, r.attempt FROM agentplane.runs r
        WHERE r.thread_id = $2 AND r.ordinal > $3 AND ${RUN_IS_VISIBLE} ORDER BY r.ordinal DESC LIMIT ${MAX_RUNS}`,
      values: [threadId, after.toString()],
    },
  );
  return rows
    .map(({ run_id: runId, ordinal, status, attempt }) => ({
      runId,
      ordinal: BigInt(ordinal),
      status,
      attempt,
    }))
    .reverse();
}
