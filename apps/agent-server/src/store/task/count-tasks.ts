import { TASK_CONDITIONS, TASK_STATE, taskConditionValues, type TaskSearch } from '../row/task-conditions.js';
import { TASK_RUN_COLUMNS, TASK_RUNS } from '../row/task-run.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

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
