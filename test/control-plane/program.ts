import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { waitFor } from '#lib/testing';

/** One line of a program's log. */
export interface LogLine {
  readonly level?: string | number;
  readonly msg?: string;
  readonly [field: string]: unknown;
}

const LEAD_LOST = 'the lease could not be renewed';

/** A lease needs an answer within seconds, which no machine gives that stands still for that long. */
const isOfSilence = ({ msg, why }: LogLine): boolean =>
  why === LEAD_LOST || msg === 'reading the lease failed';

/** A killed program may leave half a line, which is nobody's complaint. */
function parseLine(line: string): LogLine {
  if (!line.startsWith('{')) return { level: 'error', msg: line };
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { level: 'debug', msg: line };
  }
}

/** A program of the platform as a process of its own; ends with the process that started it. */
export class Program {
  readonly log: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #isEnding = false;

  constructor(app: string, env: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [join(process.cwd(), 'dist', 'apps', app, 'src', 'main.js')], {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        AGENTPLANE_LOG_LEVEL: 'info',
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#ended = once(this.#child, 'close');
    if (this.#child.stderr)
      createInterface({ input: this.#child.stderr }).on('line', (line) => {
        this.log.push(parseLine(line));
      });
  }

  /** Whether it has ended by itself since its API server did not answer for too long; resolves when it has ended. */
  async endedForSilence(): Promise<boolean> {
    await this.#ended;
    return !this.#isEnding && this.log.some(({ why }) => why === LEAD_LOST);
  }

  /** Warnings and errors so far, without those of an API server that did not answer: the machine stood still. */
  get complaints(): readonly LogLine[] {
    return this.log.filter(
      (line) =>
        line.level !== 'info' &&
        line.level !== 'debug' &&
        line.level !== 30 &&
        line.level !== 20 &&
        !isOfSilence(line),
    );
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  said(message: string): boolean {
    return this.log.some(({ msg }) => msg === message);
  }

  /**
   * Waits for a message of the log; a failure ends with the last lines.
   * @param who in the failure, as in "the controller"
   */
  async waitUntil(message: string, who: string): Promise<void> {
    await waitFor(() => this.said(message), { what: who }).catch((error: unknown) => {
      const tail = this.log.slice(-5).map((line) => JSON.stringify(line));
      throw new Error(`${who} did not say "${message}":\n${tail.join('\n')}`, { cause: error });
    });
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#isEnding = true;
    this.#child.kill(signal);
    await this.#ended;
  }
}
