import { isJsonObject, type JsonObject } from '#lib/json';
import { visible } from '../scope.js';
import { OUTLINE, type RunStatus, type StoredRun } from './run-row.js';

/** Key of a run's metadata that makes it part of a task of the A2A protocol. */
export const TASK_KEY = 'a2a';

/** A run of a task, in its present state and that of its thread. */
export interface TaskRun {
  /** Id of the task's first run. */
  readonly taskId: string;
  readonly runId: string;
  readonly threadId: string;
  readonly status: RunStatus;
  /** It stopped to ask for input. */
  readonly isWaiting: boolean;
  /** No other run came to its thread after it. */
  readonly isNewest: boolean;
  /** Fields of the run that belong to the protocol. */
  readonly marks: JsonObject;
  /** Input of the run; undefined when it is large, or was not requested. */
  readonly kwargs: Pick<StoredRun['kwargs'], 'input' | 'command'> | undefined;
  /** Questions of its thread, as long as the run is the newest and they are not large. */
  readonly interrupts: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface TaskRunRow {
  readonly task_id: string;
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly is_waiting: boolean;
  readonly is_newest: boolean;
  readonly marks: unknown;
  readonly kwargs: TaskRun['kwargs'] | null;
  readonly interrupts: unknown;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Size above which messages and questions are not shown in tasks: they would be parsed for each reader. */
const MAX_SHOWN_BYTES = 1024 * 1024;

/** SQL: the input of a run `r`, unless it is large. */
export const SHOWN_KWARGS = `CASE WHEN (${OUTLINE} ->> 'bytes')::bigint <= ${MAX_SHOWN_BYTES} THEN r.kwargs END`;

/** The task of a run `r` that has the key. */
export function taskOf(run: string): string {
  return `coalesce(${run}.metadata -> '${TASK_KEY}' ->> 'task_id', ${run}.run_id::text)`;
}

/**
 * Columns of a run `r` with its thread `t`. A run that is the newest waits when its thread does; an older one
 * waited when it left a question behind. The input of the run is left out.
 */
export const TASK_RUN_COLUMNS = `${taskOf('r')} AS task_id, r.run_id, r.thread_id, r.status, r.metadata -> '${TASK_KEY}' AS marks,
  NULL::json AS kwargs, r.created_at, r.updated_at, newest.is_newest,
  CASE WHEN r.status <> 'success' THEN false WHEN newest.is_newest THEN t.status = 'interrupted'
    ELSE EXISTS (SELECT 1 FROM agentplane.checkpoint_writes w
      WHERE w.thread_id = r.thread_id::text AND w.run_id = r.run_id AND w.channel = '__interrupt__') END AS is_waiting,
  CASE WHEN newest.is_newest AND octet_length(t.interrupts::text) <= ${MAX_SHOWN_BYTES} THEN t.interrupts END AS interrupts`;

/** Tables of those columns; conditions follow. */
export const TASK_RUNS = `agentplane.runs r JOIN agentplane.threads t ON t.thread_id = r.thread_id
  CROSS JOIN LATERAL (SELECT NOT EXISTS (SELECT 1 FROM agentplane.runs n
    WHERE n.thread_id = r.thread_id AND n.ordinal > r.ordinal) AS is_newest) newest`;

/** A run `r` after which no other of its task came. */
const IS_LAST_OF_TASK = `NOT EXISTS (SELECT 1 FROM agentplane.runs n
  WHERE n.thread_id = r.thread_id AND n.ordinal > r.ordinal AND n.metadata ? '${TASK_KEY}' AND ${taskOf('n')} = ${taskOf('r')})`;

export function taskRun(row: TaskRunRow): TaskRun {
  return {
    taskId: row.task_id,
    runId: row.run_id,
    threadId: row.thread_id,
    status: row.status,
    isWaiting: row.is_waiting,
    isNewest: row.is_newest,
    marks: isJsonObject(row.marks) ? row.marks : {},
    kwargs: row.kwargs ?? undefined,
    interrupts: isJsonObject(row.interrupts) ? row.interrupts : {},
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

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
