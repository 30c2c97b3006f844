import { boundedPage, ROWS_OF_PAGE } from '../json-text.js';
import {
  SHOWN_KWARGS,
  TASK_CONDITIONS,
  TASK_KEY,
  TASK_RUN_COLUMNS,
  TASK_RUNS,
  TASK_STATE,
  taskConditionValues,
  taskOf,
  taskRun,
  type TaskRun,
  type TaskRunRow,
  type TaskSearch,
} from '../row/task-run.js';
import { type Scope, type WorkerScope, RUN_IS_VISIBLE, visible } from '../scope.js';
import type { Sql } from '../sql.js';

/** Place in the list: after this run. */
export interface TaskCursor {
  readonly updatedAt: Date;
  readonly runId: string;
}

/** A part of the list. */
export interface TaskPage {
  readonly runs: readonly TaskRun[];
  /** True when others follow. */
  readonly hasMore: boolean;
}

/**
 * The newest run of each task of an assistant, last changed first; fewer than requested when they are large.
 */
export async function listTasks(
  scope: Scope,
  sql: Sql,
  search: TaskSearch,
  page: { readonly limit: number; readonly after: TaskCursor | undefined },
): Promise<TaskPage> {
  const { rows } = await sql.inScope<TaskRunRow & { readonly rows_of_page: number }>(scope, {
    scans: 'Listing tasks',
    text: boundedPage({
      columns: `task_run.*, ${ROWS_OF_PAGE} AS rows_of_page`,
      alias: 'task_run',
      rows: `SELECT task.* FROM (SELECT ${TASK_RUN_COLUMNS} FROM ${TASK_RUNS} WHERE ${TASK_CONDITIONS}
        AND ($6::timestamptz IS NULL OR (date_trunc('milliseconds', r.updated_at), r.run_id) < ($6, $7::uuid))) task
      WHERE $5::text IS NULL OR $5 = ${TASK_STATE}
      ORDER BY date_trunc('milliseconds', updated_at) DESC, run_id DESC LIMIT $8`,
      large: ['interrupts', 'marks'],
    }),
    values: [
      ...taskConditionValues(search),
      search.state ?? null,
      page.after?.updatedAt ?? null,
      page.after?.runId ?? null,
      page.limit + 1,
    ],
  });
  const runs = rows.slice(0, page.limit).map(taskRun);
  return { runs, hasMore: (rows[0]?.rows_of_page ?? 0) > runs.length };
}

/** Limit per task; a task with more runs is shown without its earliest ones. */
const MAX_RUNS = 1_000;

/** Most that reading its messages may cost, as of a page: they are parsed, and printed again. */
const MAX_COST = 8 * 1024 * 1024;

/**
 * The newest runs of a task of an assistant, oldest first: as many as one answer may hold; empty when the
 * caller may not see the task.
 */
export async function listTaskRuns(
  scope: Scope,
  sql: Sql,
  taskId: string,
  assistantId: string,
): Promise<TaskRun[]> {
  const { rows } = await sql.inScope<TaskRunRow & { readonly shown_kwargs: TaskRunRow['kwargs'] }>(scope, {
    name: 'list-task-runs',
    text: boundedPage({
      columns: 'task_run.*',
      alias: 'task_run',
      rows: `SELECT ${TASK_RUN_COLUMNS}, ${SHOWN_KWARGS} AS shown_kwargs FROM ${TASK_RUNS}
      WHERE r.thread_id = (SELECT f.thread_id FROM agentplane.runs f WHERE f.run_id = $2) AND r.assistant_id = $3
        AND NOT r.temporary AND r.metadata ? '${TASK_KEY}' AND ${taskOf('r')} = $2::text AND ${visible('t.metadata')}
      ORDER BY r.ordinal DESC LIMIT ${MAX_RUNS}`,
      large: ['shown_kwargs', 'interrupts', 'marks'],
      maxCost: MAX_COST,
    }),
    values: [taskId, assistantId],
  });
  return rows.map((row) => taskRun({ ...row, kwargs: row.shown_kwargs })).reverse();
}

/** Number of tasks that a search finds. */
export async function countTasks(scope: Scope, sql: Sql, search: TaskSearch): Promise<number> {
  const { rows } = await sql.inScope<{ count: number }>(scope, {
    scans: 'Counting tasks',
    text: `SELECT count(*)::int AS count FROM (SELECT ${TASK_RUN_COLUMNS} FROM ${TASK_RUNS} WHERE ${TASK_CONDITIONS}) listed
      WHERE $5::text IS NULL OR $5 = ${TASK_STATE}`,
    values: [...taskConditionValues(search), search.state ?? null],
  });
  return rows[0]?.count ?? 0;
}

/** The id of the message that a run was given, without reading its input. */
export async function findInputId(scope: Scope, sql: Sql, runId: string): Promise<string | undefined> {
  const { rows } = await sql.inScope<{ id: string | null }>(scope, {
    scans: 'Reading the id of a message', // inputs may be large
    text: `SELECT agentplane.searchable(r.kwargs) #>> '{input,messages,0,id}' AS id FROM agentplane.runs r
      WHERE r.run_id = $2 AND ${RUN_IS_VISIBLE}`,
    values: [runId],
  });
  return rows[0]?.id ?? undefined;
}

/** Returns true when a message of a task on this thread has the id. */
export async function isMessageIdUsed(
  scope: WorkerScope,
  sql: Sql,
  threadId: string,
  messageId: string,
): Promise<boolean> {
  const { rows } = await sql.asWorker(scope, {
    name: 'is-message-id-used',
    text: `SELECT FROM agentplane.runs r WHERE r.thread_id = $1 AND r.metadata ? '${TASK_KEY}'
      AND r.metadata -> '${TASK_KEY}' -> 'message' ->> 'messageId' = $2 LIMIT 1`,
    values: [threadId, messageId],
  });
  return rows.length > 0;
}

/**
 * Start of a run: the checkpoint before its first one, null at the beginning of a thread; undefined when it
 * has none.
 */
export async function findRunStart(
  scope: Scope,
  sql: Sql,
  threadId: string,
  runId: string,
): Promise<{ readonly checkpointId: string | null } | undefined> {
  const { rows } = await sql.inScope<{ checkpointId: string | null }>(scope, {
    text: `SELECT c.parent_checkpoint_id AS "checkpointId" FROM agentplane.checkpoints c
      JOIN agentplane.threads t ON t.thread_id = $2::text::uuid
      WHERE c.thread_id = $2::text AND c.checkpoint_ns = '' AND c.metadata ->> 'run_id' = $3 AND ${visible('t.metadata')}
      ORDER BY c.checkpoint_id LIMIT 1`,
    values: [threadId, runId],
  });
  return rows[0];
}

/** The secret of the deployment that names the threads of contexts. No answer may hold it. */
export async function getContextKey(scope: WorkerScope, sql: Sql): Promise<string> {
  const { rows } = await sql.asWorker<{ key: string }>(scope, {
    text: 'SELECT key FROM agentplane.context_key',
  });
  const [row] = rows;
  if (row) return row.key;
  throw new Error('agentplane.context_key is empty; restore the database from a whole backup');
}

/**
 * Ends a run that has stopped to ask for something: it will get no answer. Its thread waits no more.
 * @returns false when the thread continued in the meantime
 */
export async function cancelWaitingTask(
  scope: Scope,
  sql: Sql,
  runId: string,
  threadId: string,
): Promise<boolean> {
  const { rows } = await sql.inScope(scope, {
    text: `WITH waiting AS (
        SELECT t.thread_id FROM agentplane.threads t
        WHERE t.thread_id = $3 AND t.status = 'interrupted' AND ${visible('t.metadata')} FOR UPDATE),
      ended AS (
        UPDATE agentplane.runs r SET status = 'interrupted', cancel = 'interrupt',
          cancel_reason = 'Cancelled by request', updated_at = clock_timestamp()
        FROM waiting w WHERE r.thread_id = w.thread_id AND r.run_id = $2 AND r.status = 'success'
          AND NOT EXISTS (SELECT 1 FROM agentplane.runs n WHERE n.thread_id = r.thread_id AND n.ordinal > r.ordinal)
        RETURNING r.thread_id)
      UPDATE agentplane.threads t SET status = 'idle', resting_status = 'idle', interrupts = '{}',
        updated_at = clock_timestamp() FROM ended e WHERE t.thread_id = e.thread_id RETURNING t.thread_id`,
    values: [runId, threadId],
    locks: threadId,
  });
  return rows.length > 0;
}
