import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitFor } from '#lib/testing';

const END = '--- end of the block ---';

/** How a pasted block ended. */
export interface BlockEnding {
  /** What it printed, on both outputs. */
  readonly output: string;
  /** The first command that failed; empty for none. */
  readonly failed: string;
}

/** One terminal: blocks pasted into it share their variables. */
export class ShellSession {
  readonly #shell: ChildProcess;
  #output = '';

  constructor(cwd: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#shell = spawn('bash', ['--noprofile', '--norc'], {
      cwd,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    for (const stream of [this.#shell.stdout, this.#shell.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    this.#shell.stdin?.write("exec 2>&1; trap 'FAILED=${FAILED:-$BASH_COMMAND}' ERR\n");
  }

  get #hasEnded(): boolean {
    return this.#shell.exitCode !== null || this.#shell.signalCode !== null;
  }

  get output(): string {
    return this.#output;
  }

  /** Pastes a block, and waits until it has ended. */
  async run(commands: string, timeoutMs: number): Promise<BlockEnding> {
    const from = this.#output.length;
    this.start(`FAILED=\n${commands}`);
    // output may end within a line
    this.#shell.stdin?.write(`printf '\\n%s\\n' "${END}$FAILED"\n`);
    const ended = await waitFor(
      () => new RegExp(`^${END}(.*)$`, 'm').exec(this.#output.slice(from)) ?? (this.#hasEnded && 'shell'),
      { timeoutMs, what: `the block to end:\n${commands}` },
    );
    if (ended === 'shell')
      throw new Error(`the shell ended within the block:\n${commands}\n${this.#output.slice(from)}`);
    return { output: this.#output.slice(from, from + (ended.index ?? 0)), failed: ended[1] ?? '' };
  }

  /** Pastes a block that runs on. Its commands read nothing of what is pasted after them. */
  start(commands: string): void {
    this.#shell.stdin?.write(`{\n${commands}\n} </dev/null\n`);
  }

  /** Ctrl-C, and the end of the terminal. */
  async close(): Promise<void> {
    const { pid } = this.#shell;
    if (pid === undefined || this.#hasEnded) return;
    const ended = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    process.kill(-pid, 'SIGINT');
    await ended;
  }
}
