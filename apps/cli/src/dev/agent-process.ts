import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { wholeEnvironment } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { type Begin, ON_COMMAND, readAgentReport } from '#lib/lifecycle';
import { sendSignal } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import type { Guardian } from './guardian.js';

const PROGRAM = join(INSTALLATION, 'dist', 'apps', 'agent-server', 'src', 'main.js');

export interface AgentRequest {
  /** Real path of the agent's folder. */
  readonly folder: string;
  /** Modules to evaluate ahead, as URLs. */
  readonly preload: readonly string[];
  readonly guardian: Guardian;
  readonly clock: Clock;
  /** Gets each line of its log. */
  readonly onLine: (line: string) => void;
}

/** Result of an agent server's start. */
export type Start =
  | { readonly kind: 'ready'; readonly port: number; readonly packages: readonly string[] }
  | { readonly kind: 'failed'; readonly message: string };

/** An agent server as a process of its own: loaded, then begun, then stopped. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #started = Promise.withResolvers<Start>();
  readonly #ended = Promise.withResolvers<void>();
  #hasEnded = false;
  #lastLine = '';
  /** Called with the agent's own files, once they compile. */
  onSources: (files: readonly string[]) => void = () => undefined;

  /** Loads the program; the agent's folder is not read before `begin`. */
  constructor(private readonly request: AgentRequest) {
    const { folder, preload, guardian, onLine } = request;
    // the child leads a process group: programs that the agent starts end with it, and Ctrl-C reaches only
    // this program
    this.#child = spawn(process.execPath, [...preload.map((url) => `--import=${url}`), PROGRAM, ON_COMMAND], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      env: wholeEnvironment({}),
    });
    const { pid } = this.#child;
    if (pid !== undefined) guardian.watch(pid);
    this.#child.on('message', (message) => this.#report(message));
    this.#child.on('error', (error) => this.#end(error.message));
    this.#child.on('exit', (code, signal) => {
      if (pid !== undefined) guardian.forget(pid);
      this.#end(`it exited with ${code ?? signal}`);
    });
    if (this.#child.stderr)
      createInterface({ input: this.#child.stderr }).on('line', (line) => {
        this.#lastLine = line;
        onLine(line);
      });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resolves once the process has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Starts the server with these variables over those of this process. */
  begin(environment: Readonly<Record<string, string>>): Promise<Start> {
    const begin: Begin = { kind: 'begin', environment };
    if (this.#child.connected) this.#child.send(begin, () => undefined);
    return this.#started.promise;
  }

  /** Lets it drain, with what it is at work on; after that time it is killed. */
  async stop(longestMs: number): Promise<void> {
    this.#signal('SIGTERM');
    const cancel = this.request.clock.after(longestMs, () => this.kill());
    await this.#ended.promise;
    cancel();
  }

  /** Ends it at once, and whatever it started. */
  kill(): void {
    this.#signal('SIGKILL', true);
  }

  #signal(signal: NodeJS.Signals, group = false): void {
    if (!this.#hasEnded && this.#child.pid !== undefined) sendSignal(this.#child.pid, signal, group);
  }

  #report(message: unknown): void {
    const report = readAgentReport(message);
    switch (report?.kind) {
      case 'agent-sources':
        return this.onSources(report.files);
      case 'agent-ready':
        return this.#started.resolve({ kind: 'ready', port: report.port, packages: report.packages });
      case 'agent-failed':
        return this.#started.resolve({ kind: 'failed', message: report.message });
      case undefined:
    }
  }

  #end(how: string): void {
    this.#hasEnded = true;
    const said = this.#lastLine === '' ? '' : `; its last line: ${this.#lastLine}`;
    this.#started.resolve({ kind: 'failed', message: `the agent server did not start: ${how}${said}` });
    this.#ended.resolve();
  }
}
