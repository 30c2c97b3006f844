import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { wholeEnvironment } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { findStablePort } from '#lib/held-sockets';
import { isJsonObject, type JsonObject } from '#lib/json';
import { type Begin, ON_COMMAND, readAgentReport, readNotReady } from '#lib/lifecycle';
import { sendSignal } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import type { Destination } from './front-door.js';
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
type Start =
  | { readonly kind: 'ready'; readonly port: number; readonly packages: readonly string[] }
  | { readonly kind: 'failed'; readonly message: string };

/** An agent server as a process of its own: loaded, then begun, then stopped. */
class AgentProcess {
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

const PLACE = /(?<file>[^\s:()'"]+\.(?:[cm]?[jt]sx?|json|py)):(?<line>\d+)(?::(?<column>\d+))?/g;

/** Lines shown before and after the one that is meant. */
const AROUND = 2;

/**
 * The lines around the first place (`src/agent.ts:12:5`) that a text names in a folder, with the column marked; undefined
 * when it names none that can be read.
 */
function codeFrame(text: string, folder: string): string | undefined {
  for (const { groups } of text.replaceAll('file://', '').matchAll(PLACE)) {
    const [file = '', line, column] = [
      groups?.['file'],
      Number(groups?.['line']),
      Number(groups?.['column']),
    ];
    const path = resolve(folder, file);
    if (!path.startsWith(`${folder}/`) || /\/(node_modules|site-packages)\//.test(path)) continue;
    const frame = frameOf(path, line, column);
    if (frame !== undefined)
      return `  ${path.slice(folder.length + 1)}:${line}${column ? `:${column}` : ''}\n${frame}`;
  }
  return undefined;
}

function frameOf(path: string, line: number, column: number): string | undefined {
  let lines: readonly string[];
  try {
    lines = readFileSync(path, 'utf8').split('\n');
  } catch {
    return undefined;
  }
  if (line < 1 || line > lines.length) return undefined;
  const [first, last] = [Math.max(1, line - AROUND), Math.min(lines.length, line + AROUND)];
  const width = String(last).length;
  const shown: string[] = [];
  for (let number = first; number <= last; number++) {
    const text = lines[number - 1] ?? '';
    shown.push(`  ${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text}`);
    if (number === line && column > 0) {
      const blank = text.slice(0, column - 1).replace(/[^\t]/g, ' ');
      shown.push(`    ${' '.repeat(width)} | ${blank}^`);
    }
  }
  return shown.join('\n');
}

function parse(line: string): JsonObject | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return isJsonObject(entry) && typeof entry['msg'] === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Fields that the agent handed to its logger, or those of a line beside its message. */
function fieldsOf({ agent, error, err, ...entry }: JsonObject): string {
  const thrown = isJsonObject(err) ? (err['message'] ?? '') : error;
  const fields = isJsonObject(agent) ? agent : {};
  const ids = entry['run_id'] === undefined ? {} : { run: entry['run_id'] };
  const shown = Object.entries({ ...fields, ...ids }).map(([name, value]) => `${name}=${textOf(value)}`);
  return [
    ...(thrown === undefined ? [] : [`: ${textOf(thrown)}`]),
    ...shown.map((field) => ` ${field}`),
  ].join('');
}

/**
 * A line of the agent server's log for people; undefined for those about its own work. An error is shown with the lines
 * of the agent's that it comes from.
 */
export function renderLogLine(line: string, folder: string): string | undefined {
  const entry = parse(line);
  if (!entry) return line;
  const level = String(entry['level']);
  if (entry['agent'] === undefined && level !== 'warn' && level !== 'error') return undefined;
  const { err } = entry;
  const stack = isJsonObject(err) ? textOf(err['stack'] ?? '') : '';
  const frame = codeFrame(stack, folder);
  return `${level.padEnd(5)} ${textOf(entry['msg'])}${fieldsOf(entry)}${frame === undefined ? '' : `\n${frame}`}`;
}

/** Requests wait so long for an agent that is being loaded. */
const WAIT_MS = 30_000;

/** A server that ends sooner after its start would end again at once. */
const STEADY_MS = 3_000;

/** Interval of checks for missing things. */
const LOOK_MS = 500;

/** Delay after a reload, so that the answers come first. */
const SPARE_AFTER_MS = 300;

/** An agent server gets so long to end when another follows: those of `devEnvironment`, and its grace for answers. */
const REPLACED_MS = 36_000;

/** Delay before it is told to end: it takes requests that are in flight to it. */
const ARRIVAL_MS = 200;

/** And when none follows, which would take the runs that are waited for. */
const STOP_MS = 12_000;

/** Packages that read no settings while they are evaluated, and take most of the time of a load. */
const PRELOADED = /\/node_modules\/(@langchain\/|langchain\/|zod\/|langsmith\/)/;

export interface SessionOptions {
  /** Real path of the agent's folder. */
  readonly folder: string;
  /** Variables for the agent server, read again at each start. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** Obstacle to loading the agent at all, such as missing packages. */
  readonly obstacle: () => string | undefined;
  /** True when another server will be wanted. */
  readonly reloads: boolean;
  readonly guardian: Guardian;
  readonly clock: Clock;
  readonly onSources: (files: readonly string[]) => void;
  readonly onLine: (line: string) => void;
  /** Says how a start ended. */
  readonly onStart: (outcome: Outcome) => void;
}

/** Result of a start. */
export type Outcome =
  | { readonly kind: 'serving'; readonly tookMs: number }
  | { readonly kind: 'failed'; readonly message: string; readonly frame: string | undefined };

type State =
  | { readonly kind: 'starting' }
  | { readonly kind: 'serving'; readonly port: number }
  | { readonly kind: 'failed'; readonly body: Readonly<Record<string, string>> };

/**
 * One agent with the server that runs it. A reload ends the server, which finishes or hands back what it is at, and begins
 * the spare one that has loaded everything but the agent: requests wait meanwhile. A server that does not start leaves its
 * error as the answer to every request; the former version is not served in its place.
 */
export class DevSession {
  readonly name = 'agent';
  #state: State = { kind: 'starting' };
  #changed = Promise.withResolvers<void>();
  #turn = 0;
  #current: AgentProcess | undefined;
  #spare: AgentProcess | undefined;
  #preload: readonly string[] = [];
  #port = 0;
  #isStopped = false;
  readonly #ending = new Set<Promise<void>>();

  constructor(private readonly options: SessionOptions) {
    this.#spare = this.#load();
  }

  get hasFailed(): boolean {
    return this.#state.kind === 'failed';
  }

  /** Current destination of requests; waits while the agent is being loaded. */
  async destination(): Promise<Destination> {
    const over = Promise.withResolvers<void>();
    let isOver = false;
    const cancel = this.options.clock.after(WAIT_MS, () => {
      isOver = true;
      over.resolve();
    });
    while (this.#state.kind === 'starting' && !isOver)
      await Promise.race([this.#changed.promise, over.promise]);
    cancel();
    const state = this.#state;
    if (state.kind === 'serving') return { kind: 'server', port: state.port };
    if (state.kind === 'failed') return { kind: 'none', body: state.body };
    return { kind: 'none', body: { detail: await this.#progress() } };
  }

  /** Starts the agent anew. */
  async reload(): Promise<void> {
    if (this.#isStopped) return;
    const turn = ++this.#turn;
    const startedMs = this.options.clock.monotonicMs();
    this.#leave();
    this.#become({ kind: 'starting' });
    const obstacle = this.#obstacle();
    if (obstacle !== undefined) {
      this.#fail(obstacle);
      return this.#await(turn);
    }
    const start = await this.#begin(turn);
    if (turn !== this.#turn || this.#isStopped) return;
    if (start.kind === 'failed') return this.#fail(start.message);
    this.#preload = start.packages.filter((url) => PRELOADED.test(url));
    this.#become({ kind: 'serving', port: start.port });
    const { clock, onStart } = this.options;
    onStart({ kind: 'serving', tookMs: clock.monotonicMs() - startedMs });
    this.#prepare(turn);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#spare?.kill();
    this.#leave(STOP_MS, 0);
    await Promise.all([...this.#ending, this.#spare?.ended]);
  }

  #load(): AgentProcess {
    const { folder, guardian, clock, onLine } = this.options;
    return new AgentProcess({ folder, preload: this.#preload, guardian, clock, onLine });
  }

  async #begin(turn: number): Promise<Start> {
    const { environment, onSources, clock } = this.options;
    const agent = this.#spare && !this.#spare.hasEnded ? this.#spare : this.#load();
    this.#spare = undefined;
    this.#current = agent;
    agent.onSources = onSources;
    this.#port = await findStablePort();
    const start = await agent.begin({ ...environment(), PORT: String(this.#port) });
    const startedMs = clock.monotonicMs();
    if (start.kind === 'ready')
      void agent.ended.then(() => this.#lost(turn, clock.monotonicMs() - startedMs));
    return start;
  }

  /** The server ended by itself: something in the agent ends processes. */
  #lost(turn: number, ranMs: number): void {
    if (turn !== this.#turn || this.#isStopped) return;
    if (ranMs >= STEADY_MS) void this.reload();
    else this.#fail('the agent server ended right after its start; see its last lines');
  }

  /** Loads the next server as far as it can be without the agent. */
  #prepare(turn: number): void {
    if (!this.options.reloads) return;
    this.options.clock.after(SPARE_AFTER_MS, () => {
      if (turn === this.#turn && !this.#isStopped) this.#spare ??= this.#load();
    });
  }

  /** Looks whether an obstacle that no file of the agent's shows has gone. */
  #await(turn: number): void {
    this.options.clock.after(LOOK_MS, () => {
      if (turn !== this.#turn || this.#isStopped) return;
      if (this.#obstacle() === undefined) void this.reload();
      else this.#await(turn);
    });
  }

  #obstacle(): string | undefined {
    return this.options.obstacle();
  }

  /** Ends the present server, in its own time when it serves. */
  #leave(longestMs = REPLACED_MS, arrivalMs = ARRIVAL_MS): void {
    const agent = this.#current;
    this.#current = undefined;
    if (!agent) return;
    const isReached = this.#state.kind === 'serving';
    if (!isReached) agent.kill();
    const ending = this.#end(agent, isReached ? arrivalMs : 0, longestMs).finally(() =>
      this.#ending.delete(ending),
    );
    this.#ending.add(ending);
  }

  async #end(agent: AgentProcess, arrivalMs: number, longestMs: number): Promise<void> {
    if (arrivalMs > 0) await this.options.clock.sleep(arrivalMs);
    await agent.stop(longestMs);
  }

  #fail(message: string): void {
    const { folder, onStart } = this.options;
    const frame = codeFrame(message, folder);
    this.#become({ kind: 'failed', body: { detail: message, ...(frame === undefined ? {} : { frame }) } });
    onStart({ kind: 'failed', message, frame });
    this.#leave();
    this.#prepare(this.#turn);
  }

  #become(state: State): void {
    this.#state = state;
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }

  /** Progress that the server reports. */
  async #progress(): Promise<string> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#port}/ok`, { signal: AbortSignal.timeout(1_000) });
      return readNotReady(await answer.json()).detail ?? 'the agent is being loaded; retry';
    } catch {
      return 'the agent is being loaded, and the server does not answer: a file of the agent may be in an endless loop';
    }
  }
}
