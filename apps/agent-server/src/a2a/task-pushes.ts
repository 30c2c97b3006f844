import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import type { DuePush, StoredPush } from '../store/statement/task-pushes.js';
import { listPushes, MAX_PUSHES, removePush, setPush } from '../store/statement/task-pushes.js';
import { listTaskRuns } from '../store/statement/tasks.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import { isOwnPath } from '../webhook/webhook-policy.js';
import type { PushCall } from '../webhook/webhook-sender.js';
import type { Agent } from './agents.js';
import { buildTask, withHistory } from './build-task.js';
import { wireOfVersion } from './choose-wire.js';
import { A2aError, invalidParam, taskNotFound } from './envelope.js';
import type { PushName, PushParameters, PushTarget } from './push-parameters.js';
import type { Task } from './task.js';
import type { Tasks } from './tasks.js';
import type { PushOperation, Wire } from './wire.js';

export interface TaskPushParts {
  readonly sql: Sql;
  readonly tasks: Tasks;
  /** Addresses that users may make the deployment call. */
  readonly policy: { admit(url: string): Promise<string>; readonly isDisabled: boolean };
}

/** Receivers of notifications about tasks. */
export class TaskPushes {
  constructor(private readonly parts: TaskPushParts) {}

  /** False where the agent's author has switched webhooks off. */
  get isEnabled(): boolean {
    return !this.parts.policy.isDisabled;
  }

  /** @throws A2aError `pushNotSupported`, `invalidParams` for an address that must not be called */
  async admit(target: PushTarget): Promise<PushTarget> {
    if (!this.isEnabled) throw notSupported();
    if (isOwnPath(target.url)) throw invalidParam('url', 'must be an absolute URL');
    try {
      return { ...target, url: await this.parts.policy.admit(target.url) };
    } catch (error) {
      if (!(error instanceof PublicError) || error.code !== 'invalid') throw error;
      throw invalidParam('url', `is refused: ${error.problems[0]?.msg ?? error.message}`);
    }
  }

  /**
   * Adds a receiver, whose address has been admitted, to a task; one with its id is replaced.
   * @param catchesUp whether it is called about a status that the task has already
   * @throws A2aError `taskNotFound`, `invalidParams`
   */
  async set(
    scope: Scope,
    agent: Agent,
    {
      wire,
      taskId,
      target,
      catchesUp,
    }: PushParameters & { readonly wire: Wire; readonly catchesUp: boolean },
  ): Promise<JsonObject> {
    const { sql } = this.parts;
    const { assistant_id: assistantId } = agent.assistant;
    const name = await this.#nameOf(scope, agent, taskId);
    const push: StoredPush = {
      ...name,
      configId: target.id ?? name.taskId,
      assistantId,
      wire: wire.version,
      url: target.url,
      token: target.token,
      scheme: target.authentication?.scheme,
      credentials: target.authentication?.credentials,
    };
    if (!(await setPush(scope, sql, push, { catchesUp })))
      throw invalidParam(
        'taskId',
        `has ${MAX_PUSHES} receivers of notifications, as many as a task may have`,
      );
    return render(wire, push);
  }

  /** Result of a method of clients. @throws A2aError */
  async perform(
    scope: Scope,
    agent: Agent,
    wire: Wire,
    operation: PushOperation,
    params: unknown,
  ): Promise<unknown> {
    if (!this.isEnabled) throw notSupported();
    if (operation === 'pushSet') {
      const { taskId, target } = wire.push.parseSet(params);
      return this.set(scope, agent, { wire, taskId, target: await this.admit(target), catchesUp: false });
    }
    return this.#read(scope, agent, wire, operation, wire.push.parseName(params));
  }

  async #read(
    scope: Scope,
    agent: Agent,
    wire: Wire,
    operation: Exclude<PushOperation, 'pushSet'>,
    { taskId: given, id }: PushName,
  ): Promise<unknown> {
    const { sql } = this.parts;
    const { taskId } = await this.#nameOf(scope, agent, given);
    if (operation === 'pushDelete') {
      await removePush(scope, sql, { taskId, configId: id ?? taskId });
      return wire.push.deleted;
    }
    const held = await listPushes(scope, sql, taskId);
    if (operation === 'pushList') return wire.push.renderList(held.map((push) => render(wire, push)));
    const found =
      held.find(({ configId }) => configId === (id ?? taskId)) ?? (id === undefined ? held[0] : undefined);
    if (!found)
      throw new A2aError('taskNotFound', 'The push notification configuration of the task was not found');
    return render(wire, found);
  }

  /** The task by its own spelling, with its thread. @throws A2aError `taskNotFound` */
  async #nameOf(
    scope: Scope,
    agent: Agent,
    taskId: string,
  ): Promise<Pick<StoredPush, 'taskId' | 'threadId'>> {
    const [first] = await this.parts.tasks.runsOf(scope, agent, taskId);
    return { taskId: first.taskId, threadId: first.threadId };
  }

  /**
   * The call of a receiver: the task as it is now.
   * @returns undefined when a later change of the task has a call of its own
   * @throws A2aError `taskNotFound`
   */
  async render(push: DuePush): Promise<PushCall | undefined> {
    const { url, token, scheme, credentials } = push;
    const wire = wireOfVersion(push.wire);
    const task = await this.#taskOf(push);
    if (push.status === 'running' && task.status.state !== 'working') return undefined;
    return {
      url,
      headers: {
        'content-type': wire.push.mediaType,
        ...(token === undefined ? {} : { 'x-a2a-notification-token': token }),
        ...(scheme === undefined ? {} : { authorization: `${scheme} ${credentials}` }),
      },
      body: JSON.stringify(wire.renderPushed(withHistory(task, 0))),
    };
  }

  /** An answer that cannot be read, or is too large, is left out. */
  async #taskOf({ taskId, assistantId }: DuePush): Promise<Task> {
    const { sql, tasks } = this.parts;
    try {
      return await tasks.get(WORKER, { assistant: { assistant_id: assistantId } }, taskId);
    } catch (error) {
      const isOfAnswer = error instanceof A2aError && error.kind !== 'taskNotFound';
      if (!isOfAnswer && !(error instanceof PublicError && error.code === 'too_large')) throw error;
      const [first, ...others] = await listTaskRuns(WORKER, sql, taskId, assistantId);
      if (!first) throw taskNotFound();
      return buildTask([first, ...others], undefined);
    }
  }
}

function notSupported(): A2aError {
  return new A2aError(
    'pushNotSupported',
    'Push notifications are switched off with the webhooks of this agent',
  );
}

function render(wire: Wire, { taskId, configId: id, url, scheme }: StoredPush): JsonObject {
  return wire.push.render({ taskId, id, url, scheme });
}
