import { visible } from '../visible.js';
import { IS_LAST_OF_TASK, TASK_KEY } from './task-run.js';

/** Search for tasks of an assistant, or for their number. */
export interface TaskSearch {
  readonly assistantId: string;
  readonly contextId: string | undefined;
  /** State by its name of 0.3. */
  readonly state: string | undefined;
  /** Changed then or later. */
  readonly since: Date | undefined;
}

/** The conditions on the columns of a task's run, the scope's first; their values are `$2` to `$4`. */
export const TASK_CONDITIONS = `r.assistant_id = $2 AND NOT r.temporary AND r.metadata ? '${TASK_KEY}' AND ${visible('t.metadata')}
  AND ($3::text IS NULL OR r.metadata -> '${TASK_KEY}' ->> 'context_id' = $3)
  AND ($4::timestamptz IS NULL OR r.updated_at >= $4) AND ${IS_LAST_OF_TASK}`;

/** The state of a listed run, by the names of 0.3. */
export const TASK_STATE = `CASE status WHEN 'pending' THEN 'submitted' WHEN 'running' THEN 'working'
  WHEN 'success' THEN CASE WHEN NOT is_waiting THEN 'completed' WHEN is_newest THEN 'input-required' ELSE 'canceled' END
  WHEN 'interrupted' THEN 'canceled' ELSE 'failed' END`;

export function taskConditionValues({ assistantId, contextId, since }: TaskSearch): unknown[] {
  return [assistantId, contextId ?? null, since ?? null];
}
