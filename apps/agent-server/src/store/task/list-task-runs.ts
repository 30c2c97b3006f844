import { boundedPage } from '../bounded-page.js';
import { SHOWN_KWARGS, TASK_KEY, TASK_RUN_COLUMNS, TASK_RUNS, taskOf, taskRun } from '../row/task-run.js';
import type { TaskRun, TaskRunRow } from '../row/task-run.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

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
