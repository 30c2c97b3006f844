import { createHmac } from 'node:crypto';
import {
  isJsonObject,
  inTurns,
  type JsonObject,
  type JsonStep,
  type JsonWalk,
  type MutableJsonObject,
  parseShort,
  stableJson,
  valueAt,
} from '#lib/json';
import { PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import type { Clock } from '#lib/time';
import { isOfModel, answerText, type AnswerText, type EarlierMessages, messagesIn } from './answer-text.js';
import { contentParts, buildTask, inputIdOf, nameOf, type TaskMarks } from './build-task.js';
import {
  type Message,
  type TaskName,
  type AnswerContent,
  isTerminal,
  type Part,
  stateOfRun,
  type Task,
} from './task.js';
import { parseRequestedRun, type RequestedRun, uuid7 } from '../run/requested-run.js';
import type { RunOutputs } from '../run/run-outputs.js';
import type { OutputReader, RunReader } from '../run/run-reading.js';
import type { Asker, RunService, Submitted } from '../run/run-service.js';
import { TASK_KEY, type TaskRun } from '../store/row/task-run.js';
import { leftOf, type Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import {
  cancelWaitingTask,
  findInputId,
  findRunStart,
  getContextKey,
  isMessageIdUsed,
  listTaskRuns,
} from '../store/statement/tasks.js';
import { findSmallValues } from '../store/statement/threads.js';
import { WORKER } from '../store/worker-scope.js';
import type { Agent } from './agents.js';
import { A2aError, invalidParam, taskNotFound } from './envelope.js';
import { graphInputOf, questionsOf, resumeOf } from './graph-request.js';
import type { HistoryScope, SendParameters } from './parameters.js';

/** Messages of people and models in a state, as a history of their context. */
function historyOfState(messages: unknown, { contextId }: TaskName): readonly Message[] {
  const given: unknown[] = Array.isArray(messages) ? messages : [];
  return given.flatMap((message, at): Message[] => {
    if (!isJsonObject(message)) return [];
    const { id, content } = message;
    const isOfPerson = ['human', 'user'].includes(String(message['type'] ?? message['role']));
    if (!isOfPerson && !isOfModel(message)) return [];
    const messageId = typeof id === 'string' ? id : `message-${at}`;
    return [{ messageId, role: isOfPerson ? 'user' : 'agent', parts: contentParts(content, []), contextId }];
  });
}

/**
 * Threads of contexts. An id that a client made up leads to a separate thread for each owner, the same at
 * each server and after each restart. Its id is made with a secret: a client that could foresee it could take
 * it before its owner does.
 */
export class ContextThreads {
  #key: Promise<string> | undefined;

  constructor(private readonly sql: Sql) {}

  /**
   * Threads that a context may be; the first that the caller can use counts.
   * @param owner owner of the context; undefined when all callers share it
   */
  async of(owner: string | undefined, contextId: string): Promise<readonly [string, string?]> {
    const derived = derivedId(await this.#readKey(), owner, contextId);
    return isUuid(contextId) ? [contextId.toLowerCase(), derived] : [derived];
  }

  #readKey(): Promise<string> {
    if (!this.#key) {
      this.#key = getContextKey(WORKER, this.sql);
      this.#key.catch(() => (this.#key = undefined)); // the database may answer the next time
    }
    return this.#key;
  }
}

function derivedId(key: string, owner: string | undefined, contextId: string): string {
  const digest = createHmac('sha256', key)
    .update(stableJson([owner ?? null, contextId]))
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6); // a uuid of version 8: its bits are our own affair
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The states of a thread that its checkpoints hold. */
export interface PastStates {
  /** JSON text of a list, newest first. @throws PublicError `not_found` */
  history(
    asked: { readonly scope: Scope; readonly threadId: string },
    query: {
      readonly limit: number;
      readonly before: undefined;
      readonly metadata: JsonObject;
      readonly checkpoint: JsonObject | undefined;
      readonly select: readonly string[];
    },
  ): Promise<string>;
}

export interface TaskParts {
  readonly sql: Sql;
  readonly runs: RunService;
  readonly outputs: Pick<RunOutputs, 'read' | 'wait'>;
  readonly states: PastStates;
  readonly contexts: ContextThreads;
  /** Refuses messages with files on hosts that may not be called. @throws A2aError `invalidParams` */
  readonly requireHosts: (parts: readonly Part[]) => Promise<void>;
  readonly clock: Clock;
}

/** Caller without a thread: the context determines it. */
export interface Caller extends Pick<Asker, 'fields' | 'assistantScope' | 'newThreadScope'> {
  /** Owner of the contexts; undefined when all callers share them. */
  readonly owner: string | undefined;
  /** The agent as the request names it. */
  readonly calledAs: string;
  /** Scope for a run; a handler of the agent may change the body. */
  authorizeRun(body: MutableJsonObject, threadId: string): Promise<Scope>;
  authorizeRead(): Promise<Scope>;
}

/** Larger states are read from the thread. */
const MAX_HISTORY_CHARS = 4 * 1024 * 1024;

type TaskRuns = readonly [TaskRun, ...TaskRun[]];

/** The agent of a task, as far as finding the task needs it. */
interface TaskAgent {
  readonly assistant: Pick<Agent['assistant'], 'assistant_id'>;
}

export interface BegunTask {
  readonly runId: string;
  readonly task: Task;
  /** Scope of the caller for the task. */
  readonly scope: Scope;
  /** Stops the reading; nothing when no reader was given. */
  readonly stopReading: () => void;
}

export interface SendOptions {
  /** True when a message to a finished task begins another in its context. */
  readonly restartsTasks: boolean;
  /** Tokens are wanted: models stream, which takes them longer. */
  readonly isStreamed: boolean;
}

/** Effect of a message. */
interface Plan {
  /** Threads to try, in this order. */
  readonly threadIds: readonly [string, string?];
  readonly marks: TaskMarks;
  /** The remaining body of `POST /threads/:thread_id/runs`. */
  readonly more: JsonObject;
  readonly continued: TaskRuns | undefined;
}

/** A run as a handler of the agent left it. */
interface Made {
  readonly submitted: Submitted;
  readonly request: RequestedRun;
  readonly scope: Scope;
}

/** Tasks of the protocol as runs on threads. */
export class Tasks {
  constructor(private readonly parts: TaskParts) {}

  /**
   * Begins a task, or continues one that waits for input.
   * @throws A2aError, PublicError
   */
  async send(
    caller: Caller,
    agent: Agent,
    options: SendOptions,
    parameters: SendParameters,
    reader?: RunReader,
  ): Promise<BegunTask> {
    const plan = await this.#plan(caller, agent, options, parameters);
    const { submitted, request, scope } = await this.#submit(caller, plan, options, reader);
    const { run, stopReading } = submitted;
    const begun: TaskRun = {
      taskId: plan.continued?.[0].taskId ?? run.run_id,
      runId: run.run_id,
      threadId: run.thread_id,
      status: 'pending', // a reader from the beginning sees it begin
      isWaiting: false,
      isNewest: true,
      marks: { ...plan.marks },
      kwargs: { input: request.input, command: request.command ?? null },
      interrupts: {},
      createdAt: new Date(run.created_at),
      updatedAt: new Date(run.created_at),
    };
    const task = buildTask(plan.continued ? [...plan.continued, begun] : [begun], undefined);
    return { runId: run.run_id, task, scope, stopReading };
  }

  /** The first thread that the caller can use; another's is as if it did not exist. */
  async #submit(caller: Caller, plan: Plan, options: SendOptions, reader?: RunReader): Promise<Made> {
    const [first, next] = plan.threadIds;
    if (next === undefined) return this.#submitOn(first, caller, plan, options, reader);
    try {
      // a handler may change it, and is asked about each thread anew
      const more = structuredClone(plan.more);
      return await this.#submitOn(first, caller, { ...plan, more }, options, reader);
    } catch (error) {
      if (!(error instanceof PublicError) || error.code !== 'not_found') throw error;
      return this.#submitOn(next, caller, plan, options, reader);
    }
  }

  /** Submits a run as `POST /threads/:thread_id/runs` does. */
  async #submitOn(
    threadId: string,
    { calledAs, fields, assistantScope, newThreadScope, authorizeRun }: Caller,
    { marks, more }: Plan,
    { isStreamed }: SendOptions,
    reader?: RunReader,
  ): Promise<Made> {
    const body: MutableJsonObject = { assistant_id: calledAs, metadata: { [TASK_KEY]: marks }, ...more };
    await this.#requireNewId(body, threadId);
    const scope = await authorizeRun(body, threadId);
    const { metadata, ...left } = parseRequestedRun(body);
    const request: RequestedRun = {
      ...left,
      metadata: { ...metadata, [TASK_KEY]: marks }, // handlers cannot change the fields that make it a task
      stream_mode: isStreamed ? ['messages-tuple'] : ['values'],
    };
    const asker = { scope, threadId, fields, newThreadScope, ...(assistantScope ? { assistantScope } : {}) };
    return { submitted: await this.parts.runs.submit(asker, request, reader), request, scope };
  }

  /**
   * A message keeps the id that its client gave it, unless the thread has one with that id: the graph would
   * take it for another form of that one.
   */
  async #requireNewId(body: MutableJsonObject, threadId: string): Promise<void> {
    const { input } = body;
    const [message] = isJsonObject(input) && Array.isArray(input['messages']) ? input['messages'] : [];
    if (!isJsonObject(message) || typeof message['id'] !== 'string') return;
    if (!(await isMessageIdUsed(WORKER, this.parts.sql, threadId, message['id']))) return;
    body['input'] = {
      ...(input as JsonObject),
      messages: [{ ...message, id: uuid7(this.parts.clock.now()) }],
    };
  }

  async #plan(
    caller: Caller,
    agent: Agent,
    { restartsTasks }: SendOptions,
    { message, metadata }: SendParameters,
  ): Promise<Plan> {
    const { taskId, parts, ...rest } = message;
    const earlier =
      taskId === undefined ? undefined : await this.runsOf(await caller.authorizeRead(), agent, taskId);
    if (earlier) requireContext(earlier, message.contextId);
    const newest = earlier?.at(-1);
    const state = newest && stateOfRun(newest);
    const contextId = newest
      ? nameOf(newest).contextId
      : (message.contextId ?? uuid7(this.parts.clock.now()));
    const head = headOf(rest);
    await this.parts.requireHosts(parts);
    if (!newest || !state || (isTerminal(state) && restartsTasks)) {
      const references = newest
        ? [...new Set([...(message.referenceTaskIds ?? []), newest.taskId])]
        : undefined;
      const { input, dataBlocks } = graphInputOf(parts, message.messageId, agent);
      const marks = {
        context_id: contextId,
        message: { ...head, ...(references ? { referenceTaskIds: references } : {}) },
        ...(metadata ? { metadata } : {}),
        ...(dataBlocks.length > 0 ? { data_blocks: dataBlocks } : {}),
      };
      const threadIds = newest
        ? ([newest.threadId] as const)
        : await this.parts.contexts.of(caller.owner, contextId);
      return {
        threadIds,
        marks,
        more: { input, if_not_exists: newest ? 'reject' : 'create' },
        continued: undefined,
      };
    }
    if (state !== 'input-required')
      throw new A2aError(
        'unsupportedOperation',
        isTerminal(state)
          ? `The task is ${state}; send the message without taskId`
          : 'The task is at work; wait for its end',
      );
    const resume = resumeOf(parts, questionsOf(newest.interrupts));
    const marks = {
      context_id: contextId,
      task_id: newest.taskId,
      message: head,
      ...(metadata ? { metadata } : {}),
    };
    return {
      threadIds: [newest.threadId],
      marks,
      more: { command: { resume }, multitask_strategy: 'reject' },
      continued: earlier,
    };
  }

  /** Runs of a task, oldest first. @throws A2aError `taskNotFound` */
  async runsOf(scope: Scope, { assistant }: TaskAgent, taskId: string): Promise<TaskRuns> {
    if (!isUuid(taskId)) throw taskNotFound();
    const runs = await listTaskRuns(scope, this.parts.sql, taskId.toLowerCase(), assistant.assistant_id);
    const [first, ...others] = runs;
    if (!first) throw taskNotFound();
    return [first, ...others];
  }

  /** @throws A2aError `taskNotFound`, `invalidParams` when the task is of another context */
  async get(
    scope: Scope,
    agent: TaskAgent,
    taskId: string,
    {
      contextId,
      historyScope = 'task',
    }: { contextId?: string | undefined; historyScope?: HistoryScope } = {},
  ): Promise<Task> {
    const runs = await this.runsOf(scope, agent, taskId);
    requireContext(runs, contextId);
    const task = buildTask(runs, await this.#answerOf(scope, runs));
    return historyScope === 'task' ? task : { ...task, history: await this.#historyOf(scope, runs[0]) };
  }

  /** Messages of the whole context. @throws PublicError `too_large` */
  async #historyOf(scope: Scope, run: TaskRun): Promise<readonly Message[]> {
    const { sql } = this.parts;
    return sql.lookIfSmall(scope, async (mayBeLarge) => {
      const values = await findSmallValues(scope, sql, run.threadId, mayBeLarge);
      if (values === 'large') return values;
      if ((values?.length ?? 0) > MAX_HISTORY_CHARS)
        throw new PublicError(
          'too_large',
          'The history of the context is too large; read the state of the thread',
        );
      const given = parseShort(values ?? 'null', MAX_HISTORY_CHARS);
      return historyOfState(isJsonObject(given) ? given['messages'] : [], nameOf(run));
    });
  }

  /**
   * Reads the progress of a task from now on; one that has ended ends the reader at once.
   * @param mayHaveEnded otherwise an ended one is an error
   * @returns the current task, to begin with
   */
  async read(
    scope: Scope,
    agent: Agent,
    taskId: string,
    mayHaveEnded: boolean,
    reader: OutputReader,
  ): Promise<BegunTask> {
    const runs = await this.runsOf(scope, agent, taskId);
    const newest = runs.at(-1) ?? runs[0];
    const state = stateOfRun(newest);
    if (isTerminal(state) && !mayHaveEnded)
      throw new A2aError('unsupportedOperation', `The task is ${state}; read it by GetTask`);
    const task = buildTask(runs, await this.#answerOf(scope, runs));
    const stopReading = await this.parts.outputs.read(scope, newest.runId, newest.threadId, reader);
    return { runId: newest.runId, task, scope, stopReading };
  }

  /** @throws A2aError `taskNotFound`, `taskNotCancelable` */
  async cancel(scope: Scope, agent: Agent, taskId: string): Promise<Task> {
    const runs = await this.runsOf(scope, agent, taskId);
    const { runId, threadId } = runs.at(-1) ?? runs[0];
    const state = stateOfRun(runs.at(-1) ?? runs[0]);
    if (state === 'input-required') await cancelWaitingTask(scope, this.parts.sql, runId, threadId);
    else if (!isTerminal(state)) {
      const { ended } = await this.parts.outputs.wait(scope, runId, threadId);
      await this.parts.runs.cancel(scope, runId, threadId, 'interrupt');
      await ended;
    }
    const task = await this.get(scope, agent, taskId);
    if (isTerminal(state) || task.status.state !== 'canceled')
      throw new A2aError('taskNotCancelable', `The task is ${task.status.state}`);
    return task;
  }

  /** Answer of the newest run of a task, as it is stored. */
  async #answerOf(scope: Scope, runs: TaskRuns): Promise<AnswerContent | undefined> {
    const { sql } = this.parts;
    const run = runs.at(-1) ?? runs[0];
    if (run.status !== 'success' || (run.isWaiting && !run.isNewest)) return undefined;
    const inputId = run.kwargs ? inputIdOf(run.kwargs) : await findInputId(scope, sql, run.runId);
    const read = (earlier?: EarlierMessages): Promise<AnswerText> =>
      sql.lookIfSmall(scope, async (mayBeLarge) => {
        const values = await this.#valuesOf(scope, run, mayBeLarge);
        if (values === 'large') return values;
        return inTurns(answerAt(values.text, values.path, inputId, earlier), leftOf(scope));
      });
    const { hasMessages, answer, hasInput } = await read();
    if (!hasMessages)
      throw new A2aError('invalidAgentResponse', 'The agent ended without "messages" in its state');
    if (answer === undefined || hasInput) return answer;
    const earlier = await this.#messagesBefore(scope, run);
    return earlier && (await read(earlier)).answer;
  }

  /** Undefined when they are not known any more: then none of the messages is known to be the run's. */
  async #messagesBefore(scope: Scope, { runId, threadId }: TaskRun): Promise<EarlierMessages | undefined> {
    const start = await findRunStart(scope, this.parts.sql, threadId, runId);
    if (!start) return undefined;
    const { checkpointId } = start;
    if (checkpointId === null) return { ids: new Set(), others: 0 };
    const query = { limit: 1, before: undefined, metadata: {}, checkpoint: { checkpoint_id: checkpointId } };
    const select = ['values.messages'];
    const text = await this.parts.states.history({ scope, threadId }, { ...query, select });
    return inTurns(messagesAt(text, [0, 'values']), leftOf(scope));
  }

  /** JSON text, and the position of the values in it. */
  async #valuesOf(
    scope: Scope,
    { runId, threadId, isNewest }: TaskRun,
    mayBeLarge: boolean,
  ): Promise<{ readonly text: string; readonly path: readonly JsonStep[] } | 'large'> {
    if (isNewest) {
      const values = await findSmallValues(scope, this.parts.sql, threadId, mayBeLarge);
      return values === 'large' ? values : { text: values ?? 'null', path: [] };
    }
    if (!mayBeLarge) return 'large';
    const query = { limit: 1, before: undefined, metadata: { run_id: runId }, checkpoint: undefined };
    const select = ['values.messages'];
    const text = await this.parts.states.history({ scope, threadId }, { ...query, select });
    return { text, path: [0, 'values'] };
  }
}

function* answerAt(
  json: string,
  path: readonly JsonStep[],
  inputId: string | undefined,
  earlier: EarlierMessages | undefined,
): JsonWalk<AnswerText> {
  const values = yield* valueAt(json, path);
  return values
    ? yield* answerText(json, inputId, values.start, earlier)
    : { hasMessages: false, answer: undefined, hasInput: false };
}

function* messagesAt(json: string, path: readonly JsonStep[]): JsonWalk<EarlierMessages | undefined> {
  const values = yield* valueAt(json, path);
  return values && (yield* messagesIn(json, values.start));
}

function requireContext(runs: TaskRuns, contextId: string | undefined): void {
  if (contextId !== undefined && nameOf(runs[0]).contextId !== contextId)
    throw invalidParam('contextId', 'is not the context of the task');
}

function headOf(message: Omit<SendParameters['message'], 'parts' | 'taskId'>): JsonObject {
  const { contextId: _, ...head } = message;
  return head;
}
