import { readNotReady } from '#lib/lifecycle';
import { findStablePort } from '#lib/stable-port';
import type { Clock } from '#lib/time';
import { AgentProcess, type Start } from './agent-process.js';
import { codeFrame } from './code-frame.js';
import type { Destination } from './front-door.js';
import type { Guardian } from './guardian.js';

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
