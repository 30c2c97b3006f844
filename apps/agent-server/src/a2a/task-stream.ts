import { isJsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { RunReader } from '../run/run-feed.js';
import type { RunEvent } from '../stream/run-event.js';
import { contentText, isOfModel } from './answer-text.js';
import { answerArtifact, type Task, type TaskEvent } from './task.js';

export interface TaskStreamParts {
  readonly clock: Clock;
  readonly emit: (event: TaskEvent) => void;
  /** Reads the task once its run has ended. */
  readonly readTask: (taskId: string) => Promise<Task>;
  /** Nothing more comes; with an error when the task could not be read. */
  readonly ended: (error?: unknown) => void;
}

/**
 * The output of a run as events of its task: `task`, `working`, pieces of the answer, the state in which it ended.
 *
 * What was sent of the answer always folds to what is stored: another message of the model, or another attempt of the
 * run, takes the place of what was sent before, and at the end so does the stored text where it differs.
 */
export class TaskStream implements RunReader {
  #task: Task | undefined;
  #isWorking = false;
  #messageId: unknown;
  #sent: string | undefined;
  #early: (() => void)[] = [];

  constructor(private readonly parts: TaskStreamParts) {}

  /** What comes before it waits. */
  begin(task: Task): void {
    this.#task = task;
    this.#isWorking = task.status.state === 'working';
    this.parts.emit({ kind: 'task', task });
    const early = this.#early;
    this.#early = [];
    for (const deed of early) deed();
  }

  event({ event, data }: RunEvent): void {
    if (event !== 'metadata' && event !== 'messages') return;
    this.#once(() => (event === 'metadata' ? this.#began() : this.#token(data)));
  }

  ended(): void {
    this.#once(() => void this.#finish());
  }

  #once(deed: () => void): void {
    if (this.#task) deed();
    else this.#early.push(deed);
  }

  /** An attempt begins: what an earlier one sent is said anew. */
  #began(): void {
    this.#messageId = undefined;
    if (this.#isWorking) return;
    this.#isWorking = true;
    const timestamp = this.parts.clock.now().toISOString();
    this.#emitStatus({ state: 'working', timestamp }, false);
  }

  #token(data: string): void {
    const [message]: unknown[] = JSON.parse(data) as unknown[];
    if (!isJsonObject(message) || !isOfModel(message)) return;
    const text = contentText(message['content']);
    if (text === '') return;
    const isSame = this.#messageId !== undefined && this.#messageId === message['id'];
    this.#messageId = message['id'] ?? this.#messageId;
    this.#emitText(text, isSame && this.#sent !== undefined, false);
  }

  async #finish(): Promise<void> {
    try {
      const task = await this.parts.readTask(this.#task?.id ?? '');
      const [artifact] = task.artifacts;
      const [part] = artifact?.parts ?? [];
      if (part?.kind === 'text') {
        const isSent = part.text === this.#sent;
        this.#emitText(isSent ? '' : part.text, isSent, true);
      }
      this.#emitStatus(task.status, true);
      this.parts.ended();
    } catch (error) {
      this.parts.ended(error);
    }
  }

  #emitText(text: string, isAppended: boolean, isLastChunk: boolean): void {
    if (!this.#task) return;
    this.#sent = isAppended ? (this.#sent ?? '') + text : text;
    const { id, contextId } = this.#task;
    const artifact = answerArtifact(id, text);
    this.parts.emit({ kind: 'artifact', of: { id, contextId }, artifact, isAppended, isLastChunk });
  }

  #emitStatus(status: Task['status'], isLast: boolean): void {
    if (!this.#task) return;
    const { id, contextId } = this.#task;
    this.parts.emit({ kind: 'status', of: { id, contextId }, status, isLast });
  }
}
