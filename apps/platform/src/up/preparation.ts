import type { ChildProcess } from 'node:child_process';
import { endProcess, type ProcessIdentity } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import type {
  TaskAnswer,
  TaskCall,
  TaskInput,
  TaskName,
  TaskReply,
} from '../preparation/preparation-tasks.js';
import { type ProgramRequest, spawnProgram } from './child.js';

/** Says what is being waited for. On a terminal one line that is written over, otherwise nothing: the log has it. */
export class Progress {
  #width = 0;

  constructor(private readonly out: NodeJS.WriteStream) {}

  /**
   *
   * @param onNewLine leaves the present text of the line
   */
  say(text: string, onNewLine = false): void {
    if (!this.out.isTTY) return;
    const line = `  ${text} …`;
    this.out.write(`${onNewLine ? '\n' : '\r'}${line.padEnd(this.#width)}`);
    this.#width = line.length;
  }

  done(): void {
    if (this.out.isTTY && this.#width > 0) this.out.write(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }
}

export interface PreparationOptions extends ProgramRequest {
  readonly clock: Clock;
  /** Called whenever its process changes, so that a later start can find it. */
  readonly onProcess: (identity: ProcessIdentity | undefined) => void;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

const GRACE_MS = 5_000;

/**
 * Dependencies that the start needs and the platform does not (the database client, the Kubernetes client,
 * TypeORM, YAML), in a process that ends afterwards: the supervisor stays for days, and would keep all of it.
 * It is loaded while Postgres comes up.
 */
export class Preparation {
  readonly name = 'preparation';
  readonly #child: ChildProcess;
  readonly #identity: ProcessIdentity | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  #end: Error | undefined;

  constructor(private readonly options: PreparationOptions) {
    const { child, identity } = spawnProgram(options);
    this.#child = child;
    this.#identity = identity;
    options.onProcess(identity);
    child.on('message', (message) => this.#replied(message as TaskReply));
    child.once('error', (error) => this.#ended(error.message));
    child.once('exit', (code, signal) => this.#ended(`it ended with ${signal ?? `exit code ${code}`}`));
  }

  /** @throws Error with the words of the task's own error, or when the process ended */
  run<K extends TaskName>(task: K, input: TaskInput<K>): Promise<TaskAnswer<K>> {
    if (this.#end) return Promise.reject(this.#end);
    const call = ++this.#calls;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(call, { resolve, reject }));
    const message: TaskCall = { call, task, input };
    this.#child.send(message, (error) => {
      if (error) this.#replied({ call, failure: error.message });
    });
    // the answer's type belongs to the task's name, on both sides of the channel
    return answer as Promise<TaskAnswer<K>>;
  }

  async stop(): Promise<void> {
    if (this.#identity)
      await endProcess(this.#identity, { clock: this.options.clock, graceMs: GRACE_MS, group: true });
    this.options.onProcess(undefined);
  }

  #replied({ call, answer, failure }: TaskReply): void {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (failure === undefined) waiting?.resolve(answer);
    else waiting?.reject(new Error(failure));
  }

  #ended(why: string): void {
    this.#end = new Error(`preparing the platform failed: ${why}; see ${this.options.logFile}`);
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
  }
}
