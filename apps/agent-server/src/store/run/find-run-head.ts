import { OUTLINE } from '../row/run-outline.js';
import { ENDED_STATUSES, type RunError, type RunStatus } from '../row/run-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** Row of a run without its input. */
export interface RunHead {
  readonly runId: string;
  readonly threadId: string;
  readonly status: RunStatus;
  readonly hasEnded: boolean;
  readonly attempt: number;
  readonly error: RunError | undefined;
  /** Its output may be read from its beginning, also later. */
  readonly isResumable: boolean;
}

interface Row {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly error: RunError | null;
  readonly is_resumable: boolean | null;
}

/**
 * A run without its input, which is megabytes and of no use to a reader of its output.
 * @param threadId it must be on this thread; undefined for any
 */
export async function findRunHead(
  scope: Scope,
  sql: Sql,
  runId: string,
  threadId?: string,
): Promise<RunHead | undefined> {
  const { rows } = await sql.inScope<Row>(scope, {
    name: 'find-run-head',
    text: `SELECT r.run_id, r.thread_id, r.status, r.attempt, r.error, (${OUTLINE} ->> 'resumable')::boolean AS is_resumable
      FROM agentplane.runs r WHERE r.run_id = $2 AND ($3::uuid IS NULL OR r.thread_id = $3) AND ${RUN_IS_VISIBLE}`,
    values: [runId, threadId ?? null],
  });
  return rows.map(({ run_id, thread_id, status, attempt, error, is_resumable }) => ({
    runId: run_id,
    threadId: thread_id,
    status,
    attempt,
    hasEnded: ENDED_STATUSES.includes(status),
    error: error ?? undefined,
    isResumable: is_resumable ?? false,
  }))[0];
}
