import { TASK_CONDITIONS, TASK_STATE, taskConditionValues, type TaskSearch } from '../row/task-conditions.js';
import { TASK_RUN_COLUMNS, TASK_RUNS, taskRun, type TaskRun, type TaskRunRow } from '../row/task-run.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Place in the list: after this run. */
export interface TaskCursor {
  readonly updatedAt: Date;
  readonly runId: string;
}

/** The newest run of each task of an assistant, those that changed last first. */
export async function listTasks(
  scope: Scope,
  sql: Sql,
  search: TaskSearch,
  page: { readonly limit: number; readonly after: TaskCursor | undefined },
): Promise<TaskRun[]> {
  const { rows } = await sql.inScope<TaskRunRow>(scope, {
    scans: true,
    text: `SELECT listed.* FROM (SELECT ${TASK_RUN_COLUMNS} FROM ${TASK_RUNS} WHERE ${TASK_CONDITIONS}
        AND ($6::timestamptz IS NULL OR (date_trunc('milliseconds', r.updated_at), r.run_id) < ($6, $7::uuid))) listed
      WHERE $5::text IS NULL OR $5 = ${TASK_STATE}
      ORDER BY date_trunc('milliseconds', updated_at) DESC, run_id DESC LIMIT $8`,
    values: [
      ...taskConditionValues(search),
      search.state ?? null,
      page.after?.updatedAt ?? null,
      page.after?.runId ?? null,
      page.limit,
    ],
  });
  return rows.map(taskRun);
}
