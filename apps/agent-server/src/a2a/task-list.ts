import type { JsonObject } from '#lib/json';
import { isUuid } from '#lib/resources';
import { leftOf, type Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { countTasks, listTasks, type TaskCursor } from '../store/statement/tasks.js';
import { invalidParam } from './envelope.js';
import type { Agent } from './agents.js';
import { buildTask, withHistory } from './build-task.js';
import type { ListParameters } from './parameters.js';
import type { Task } from './task.js';
import type { Tasks } from './tasks.js';

/** @throws A2aError `invalidParams` */
function parseToken(token: string | undefined): TaskCursor | undefined {
  if (token === undefined) return undefined;
  const [at, runId] = Buffer.from(token, 'base64url').toString('latin1').split(' ');
  const updatedAt = new Date(Number(at ?? Number.NaN));
  if (Number.isNaN(updatedAt.getTime()) || !isUuid(runId))
    throw invalidParam('pageToken', 'must be the nextPageToken of an earlier page');
  return { updatedAt, runId };
}

function tokenOf({ updatedAt, runId }: TaskCursor): string {
  return Buffer.from(`${updatedAt.getTime()} ${runId}`, 'latin1').toString('base64url');
}

export interface ListOptions {
  readonly sql: Sql;
  readonly tasks: Tasks;
  readonly renderTask: (task: Task) => JsonObject;
}

/** Limit per page with artifacts or histories; further tasks are on the next page. */
const MAX_PAGE_CHARS = 8 * 1024 * 1024;

/** One page of an agent's tasks. Artifacts and history are read only on request. */
export async function renderTaskList(
  scope: Scope,
  agent: Agent,
  parameters: ListParameters,
  { sql, tasks, renderTask }: ListOptions,
): Promise<JsonObject> {
  const { contextId, state, since, pageSize, historyLength, hasArtifacts } = parameters;
  const search = { assistantId: agent.assistant.assistant_id, contextId, state, since };
  const page = { limit: pageSize, after: parseToken(parameters.pageToken) };
  const { runs: shown, hasMore } = await listTasks(scope, sql, search, page);
  const rendered: JsonObject[] = [];
  let chars = 0;
  for (const run of shown) {
    leftOf(scope)?.throwIfAborted();
    const needsWhole = hasArtifacts || historyLength > 0;
    const task = needsWhole
      ? await tasks.get(scope, agent, run.taskId).catch(() => buildTask([run], undefined))
      : buildTask([run], undefined);
    const { artifacts, ...rest } = renderTask(withHistory(task, historyLength));
    const whole = hasArtifacts && artifacts !== undefined ? { ...rest, artifacts } : rest;
    if (needsWhole) chars += JSON.stringify(whole).length;
    if (chars > MAX_PAGE_CHARS && rendered.length > 0) break;
    rendered.push(whole);
  }
  const last = shown[rendered.length - 1];
  return {
    tasks: rendered,
    nextPageToken: last && (hasMore || rendered.length < shown.length) ? tokenOf(last) : '',
    pageSize,
    totalSize: await countTasks(scope, sql, search),
  };
}
