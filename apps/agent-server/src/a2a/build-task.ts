import { isJsonObject, type JsonObject, parseShort } from '#lib/json';
import type { TaskRun } from '../store/row/task-run.js';
import { contentText } from './answer-text.js';
import { fileOfBlock } from './files.js';
import { questionsOf } from './graph-request.js';
import {
  type AnswerContent,
  answerArtifact,
  answerParts,
  type Message,
  type Part,
  stateOfRun,
  type Task,
  type TaskName,
  type TaskStatus,
} from './task.js';

type Kwargs = NonNullable<TaskRun['kwargs']>;

/** Fields that the protocol keeps in the metadata of a run. */
export interface TaskMarks {
  readonly context_id: string;
  /** The task that the run continues. */
  readonly task_id?: string;
  /** The head of the message that made the run. */
  readonly message: JsonObject;
  /** Metadata of the request. */
  readonly metadata?: JsonObject;
  /** Places of the message's content that hold data as JSON text. */
  readonly data_blocks?: readonly number[];
}

/** Inputs above 1 MiB are not read for a history. */
const MAX_DATA_CHARS = 1024 * 1024;

export function nameOf({ taskId, threadId, marks }: TaskRun): TaskName {
  const { context_id: contextId } = marks;
  return { id: taskId, contextId: typeof contextId === 'string' ? contextId : threadId };
}

/** Id that the human message of a run has in the state of its graph. */
export function inputIdOf({ input }: Kwargs): string | undefined {
  const id = inputMessage(input)?.['id'];
  return typeof id === 'string' ? id : undefined;
}

function inputMessage(input: unknown): JsonObject | undefined {
  const messages = isJsonObject(input) ? input['messages'] : undefined;
  const first: unknown = Array.isArray(messages) ? messages[0] : undefined;
  return isJsonObject(first) ? first : undefined;
}

/**
 * Parts of the content of a message.
 * @param dataAt places of blocks that hold data as JSON text
 */
export function contentParts(content: unknown, dataAt: readonly unknown[]): Part[] {
  const blocks: unknown[] = Array.isArray(content) ? content : [content];
  return blocks.map((block, at): Part => {
    const file = fileOfBlock(block);
    if (file) return file;
    const text = typeof block === 'string' ? block : contentText([block]);
    const data = dataAt.includes(at) ? parseShort(text, MAX_DATA_CHARS) : undefined;
    return isJsonObject(data) ? { kind: 'data', data } : { kind: 'text', text };
  });
}

/** The parts that a run was given, read from its input. */
function givenParts({ input, command }: Kwargs, dataAt: readonly unknown[]): Part[] {
  if (command) return [partOf(command.resume)];
  const message = inputMessage(input);
  const { messages: _, ...data } = isJsonObject(input) ? input : {};
  const hasData = message === undefined || Object.keys(data).length > 0;
  return [
    ...(message ? contentParts(message['content'], dataAt) : []),
    ...(hasData ? [{ kind: 'data', data } as const] : []),
  ];
}

function partOf(value: unknown): Part {
  if (typeof value === 'string') return { kind: 'text', text: value };
  return { kind: 'data', data: isJsonObject(value) ? value : { value } };
}

/** The message that made a run; empty when it is too large to be shown. */
function userMessages(run: TaskRun): Message[] {
  if (!run.kwargs) return [];
  const head = isJsonObject(run.marks['message']) ? run.marks['message'] : {};
  const { id: taskId, contextId } = nameOf(run);
  const { data_blocks: dataAt } = run.marks;
  const parts = givenParts(run.kwargs, Array.isArray(dataAt) ? dataAt : []);
  return [{ messageId: run.runId, ...head, role: 'user', parts, contextId, taskId }];
}

/** Parts of the agent's message with a status. */
function statusParts(
  state: TaskStatus['state'],
  run: TaskRun,
  answer: AnswerContent | undefined,
): readonly Part[] {
  switch (state) {
    case 'completed':
      return answer === undefined ? [] : answerParts(answer);
    case 'input-required':
      return questionParts(run.interrupts);
    case 'failed':
      return [{ kind: 'text', text: 'The agent failed to answer' }];
    case 'canceled':
      return [{ kind: 'text', text: 'The task was canceled' }];
    case 'submitted':
    case 'working':
      return [];
    default:
      return state satisfies never;
  }
}

/** Parts of questions: text questions as text, and all of them with the ids by which they are answered. */
function questionParts(interrupts: JsonObject): readonly Part[] {
  const questions = questionsOf(interrupts);
  const texts = questions.flatMap(({ value }): Part[] =>
    typeof value === 'string' ? [{ kind: 'text', text: value }] : [],
  );
  const data = {
    interrupts: questions.map(({ id, value, responseSchema }) => ({
      ...(id ? { id } : {}),
      value,
      ...(responseSchema ? { response_schema: responseSchema } : {}),
    })),
  };
  return [
    ...(texts.length > 0 ? texts : [{ kind: 'text', text: 'The agent asks for input' } as const]),
    ...(questions.length > 0 ? [{ kind: 'data', data } as const] : []),
  ];
}

/**
 * A task made of its runs.
 * @param runs of the task, oldest first, at least one
 * @param answer of the newest of them
 */
export function buildTask(runs: readonly [TaskRun, ...TaskRun[]], answer: AnswerContent | undefined): Task {
  const run = runs.at(-1) ?? runs[0];
  const name = nameOf(run);
  const state = stateOfRun(run);
  const parts = statusParts(state, run, answer);
  const message: Message | undefined =
    parts.length === 0
      ? undefined
      : {
          messageId: `${run.runId}-${state}`,
          role: 'agent',
          parts,
          contextId: name.contextId,
          taskId: name.id,
        };
  const asked = runs.flatMap(userMessages);
  return {
    ...name,
    status: { state, timestamp: run.updatedAt.toISOString(), ...(message ? { message } : {}) },
    artifacts: answer === undefined ? [] : [answerArtifact(name.id, answer)],
    history: state === 'completed' && message ? [...asked, message] : asked,
  };
}

/** The task with the requested part of its history. */
export function withHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || length >= task.history.length) return task;
  return { ...task, history: length === 0 ? [] : task.history.slice(-length) };
}
