import { isJsonObject, parseShort } from '#lib/json';
import type { Clock } from '#lib/time';
import type { LoggedEvent } from '../log/logged-event.js';
import { PacedReader } from '../run/paced-reader.js';
import { A2aError } from './envelope.js';
import { contentText, isOfModel } from './answer-text.js';
import { type AnswerContent, answerArtifact, type Task, type TaskEvent } from './task.js';

/** Larger pieces of an answer come at its end, with the stored text: every reader would parse them. */
const MAX_TOKEN_BYTES = 1024 * 1024;

export interface TaskStreamParts {
  readonly clock: Clock;
  readonly emit: (event: TaskEvent) => void;
  /** True when the client takes more; otherwise `more` is to be called when it does. */
  readonly hasRoom: () => boolean;
  /** Reads the task once its run has ended. */
  readonly readTask: (taskId: string) => Promise<Task>;
  /** Called after the last event; with an error when the task could not be read. */
  readonly ended: (error?: unknown) => void;
}

/**
 * The output of a run as events of its task: `task`, `working`, pieces of the answer, the state in which it
 * ended.
 *
 * The sent pieces of the answer always fold to the stored answer: another message of the model, or another
 * attempt of the run, replaces the earlier pieces, and at the end so does the stored text when it differs.
 */
export class TaskStream extends PacedReader {
  /** Not the task: its history has what the client sent. */
  #task: Pick<Task, 'id' | 'contextId'> | undefined;
  #isWorking = false;
  #messageId: unknown;
  #sent: string | undefined;

  constructor(private readonly parts: TaskStreamParts) {
    super(parts.hasRoom);
  }

  /** Begins the events of a task; the output waits for it. */
  begin(task: Task): void {
    this.#task = { id: task.id, contextId: task.contextId };
    this.#isWorking = task.status.state === 'working';
    this.parts.emit({ kind: 'task', task });
    this.beginOutput();
  }

  /** The data of an event that is not shown is not read. */
  protected take(logged: LoggedEvent): void {
    if (logged.event === 'metadata') this.#began();
    else if (logged.event === 'messages' && logged.bytes <= MAX_TOKEN_BYTES) this.#token(logged.data);
  }

  /** An attempt begins: the output of an earlier one is sent anew. */
  #began(): void {
    this.#messageId = undefined;
    if (this.#isWorking) return;
    this.#isWorking = true;
    const timestamp = this.parts.clock.now().toISOString();
    this.#emitStatus({ state: 'working', timestamp }, false);
  }

  #token(data: string): void {
    const [message]: unknown[] = parseShort(data, MAX_TOKEN_BYTES) as unknown[];
    if (!isJsonObject(message) || !isOfModel(message)) return;
    const text = contentText(message['content']);
    if (text === '') return;
    const isSame = this.#messageId !== undefined && this.#messageId === message['id'];
    this.#messageId = message['id'] ?? this.#messageId;
    this.#emitAnswer({ text, files: [] }, isSame && this.#sent !== undefined, false);
  }

  protected finish(): void {
    void this.#end();
  }

  async #end(): Promise<void> {
    try {
      const task = await this.parts.readTask(this.#task?.id ?? '');
      if (task.status.state === 'submitted' || task.status.state === 'working')
        throw new A2aError('internal', 'What comes next in this output is no longer kept; subscribe again');
      const [artifact] = task.artifacts;
      if (artifact) {
        const text = artifact.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('');
        const files = artifact.parts.filter((part) => part.kind === 'file');
        const isSent = text === this.#sent;
        this.#emitAnswer({ text: isSent ? '' : text, files }, isSent, true);
      }
      this.#emitStatus(task.status, true);
      this.parts.ended();
    } catch (error) {
      this.parts.ended(error);
    }
  }

  #emitAnswer(answer: AnswerContent, isAppended: boolean, isLastChunk: boolean): void {
    if (!this.#task) return;
    this.#sent = isAppended ? (this.#sent ?? '') + answer.text : answer.text;
    const { id, contextId } = this.#task;
    const artifact = answerArtifact(id, answer);
    this.parts.emit({ kind: 'artifact', of: { id, contextId }, artifact, isAppended, isLastChunk });
  }

  #emitStatus(status: Task['status'], isLast: boolean): void {
    if (!this.#task) return;
    const { id, contextId } = this.#task;
    this.parts.emit({ kind: 'status', of: { id, contextId }, status, isLast });
  }
}
