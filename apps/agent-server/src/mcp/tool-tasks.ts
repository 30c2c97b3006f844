import type { JsonObject } from '#lib/json';
import { isUuid } from '#lib/resources';
import type { RunResult } from '../log/event-log.js';
import { runResult } from '../run/run-result.js';
import type { RunStatus } from '../store/row/run-row.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { findToolRun, type ToolRun } from '../store/statement/tool-runs.js';
import { CODE, McpError } from './rpc.js';

/** Time for which a task is kept after its last change, in minutes. */
export const TASK_MINUTES = 24 * 60;

/** Interval at which clients are asked to poll. */
const POLL_MS = 1_000;

type TaskStatus = 'working' | 'completed' | 'cancelled';

/**
 * A run that failed is a completed call whose result has `isError`, as without a task; `failed` is for errors
 * of the protocol.
 */
const OF_STATUS: Readonly<Record<RunStatus, TaskStatus>> = {
  pending: 'working',
  running: 'working',
  success: 'completed',
  error: 'completed',
  timeout: 'completed',
  interrupted: 'cancelled',
};

/** A task on the wire, without its result. */
export function renderTask(
  run: Pick<ToolRun, 'runId' | 'status' | 'createdAt' | 'updatedAt' | 'cancelReason'>,
): JsonObject {
  const status = OF_STATUS[run.status];
  return {
    taskId: run.runId,
    status,
    ...(status === 'cancelled' && run.cancelReason ? { statusMessage: run.cancelReason } : {}),
    createdAt: run.createdAt.toISOString(),
    lastUpdatedAt: run.updatedAt.toISOString(),
    ttlMs: TASK_MINUTES * 60_000,
    pollIntervalMs: POLL_MS,
  };
}

/** @throws McpError for a task that does not exist, or that the caller may not see */
export async function getToolRun(scope: Scope, sql: Sql, { taskId }: JsonObject): Promise<ToolRun> {
  const run = isUuid(taskId) ? await findToolRun(scope, sql, taskId) : undefined;
  if (!run) throw new McpError(CODE.invalidParams, 'Task not found');
  return run;
}

/** Result of the run of a task; undefined for a task without one: at work, or cancelled. */
export async function resultOfTask(scope: Scope, sql: Sql, run: ToolRun): Promise<RunResult | undefined> {
  if (OF_STATUS[run.status] !== 'completed') return undefined;
  if (!run.questions) return runResult(scope, sql, run);
  return { body: JSON.stringify({ __interrupt__: Object.values(run.questions).flat() }) };
}
