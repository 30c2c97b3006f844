import type { JsonObject } from '#lib/json';
import type { RunStatus } from '../store/row/run-row.js';
import type { FilePart } from './files.js';

/** Task state by the status of a run; a finished one that waits for input is `input-required`. */
const OF_STATUS: Readonly<Record<RunStatus, TaskState>> = {
  pending: 'submitted',
  running: 'working',
  success: 'completed',
  error: 'failed',
  timeout: 'failed',
  interrupted: 'canceled',
};

/** States of the protocol, including those that no task here ever has. */
const STATES: readonly string[] = [
  'submitted',
  'working',
  'input-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'auth-required',
];

export function isTaskState(name: string): boolean {
  return STATES.includes(name);
}

/** Progress of the newest run of a task. */
export interface RunStanding {
  readonly status: RunStatus;
  /** It stopped to ask for input. */
  readonly isWaiting: boolean;
  /** No other run came to its thread after it. */
  readonly isNewest: boolean;
}

/**
 * A task that asked for input, and whose thread continued without an answer, is canceled: its question is
 * gone.
 */
export function stateOfRun({ status, isWaiting, isNewest }: RunStanding): TaskState {
  if (status !== 'success' || !isWaiting) return OF_STATUS[status];
  return isNewest ? 'input-required' : 'canceled';
}

/** State of a task, by the names of protocol 0.3. */
type TaskState = 'submitted' | 'working' | 'input-required' | 'completed' | 'canceled' | 'failed';

/** A piece of a message or of an artifact. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'data'; readonly data: JsonObject }
  | FilePart;

/** Content of the message that answers. */
export interface AnswerContent {
  readonly text: string;
  readonly files: readonly FilePart[];
}

/** Fields of a message beside its parts. */
export interface MessageHead {
  readonly messageId: string;
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
  readonly referenceTaskIds?: readonly string[];
}

export interface Message extends MessageHead {
  readonly role: 'user' | 'agent';
  readonly parts: readonly Part[];
  readonly contextId?: string;
  readonly taskId?: string;
}

export interface TaskStatus {
  readonly state: TaskState;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly message?: Message;
}

export interface Artifact {
  readonly artifactId: string;
  readonly name: string;
  readonly parts: readonly Part[];
}

/** A task in neither wire's words. */
export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly artifacts: readonly Artifact[];
  readonly history: readonly Message[];
}

/** Event of a task's stream; the complete task is sent once, at the beginning. */
export type TaskEvent =
  | { readonly kind: 'task'; readonly task: Task }
  | { readonly kind: 'status'; readonly of: TaskName; readonly status: TaskStatus; readonly isLast: boolean }
  | {
      readonly kind: 'artifact';
      readonly of: TaskName;
      readonly artifact: Artifact;
      /** True when it is appended to the earlier pieces; otherwise it replaces them. */
      readonly isAppended: boolean;
      readonly isLastChunk: boolean;
    };

export interface TaskName {
  readonly id: string;
  readonly contextId: string;
}

const TERMINAL: readonly TaskState[] = ['completed', 'canceled', 'failed'];

/** Returns true when the task has reached its final state. */
export function isTerminal(state: TaskState): boolean {
  return TERMINAL.includes(state);
}

/** The one artifact of a task: the answer of the agent. */
export function answerArtifact(taskId: string, { text, files }: AnswerContent): Artifact {
  return { artifactId: `${taskId}-answer`, name: 'answer', parts: answerParts({ text, files }) };
}

/** Parts of an answer: its text, which only an answer of files alone lacks, and its files. */
export function answerParts({ text, files }: AnswerContent): readonly Part[] {
  return text === '' && files.length > 0 ? files : [{ kind: 'text', text }, ...files];
}
