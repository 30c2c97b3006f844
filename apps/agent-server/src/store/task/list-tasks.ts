import { boundedPage, ROWS_OF_PAGE } from '../bounded-page.js';
import { TASK_CONDITIONS, TASK_STATE, taskConditionValues, type TaskSearch } from '../row/task-conditions.js';
import { TASK_RUN_COLUMNS, TASK_RUNS, taskRun, type TaskRun, type TaskRunRow } from '../row/task-run.js';
import type { Scope } from '../scope.js';
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
