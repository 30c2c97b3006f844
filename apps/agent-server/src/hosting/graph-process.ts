import type { ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { errorText, PublicError, TerminalError } from '#lib/errors';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { SeenSources } from '../graph/graph-registry.js';
import { Channel } from '../protocol/channel.js';
import { FRAMES_FD, WATCH_FD, type Frame, type Sent } from '../protocol/frame.js';
import { attemptText, type Outcome, type OutputSink, unreadableOutcome } from '../protocol/execution.js';
import {
  type Fetch,
  type LoadOrder,
  parseFromHost,
  toHost,
  type ToHost,
  type Trouble,
  type WireOutcome,
} from '../protocol/messages.js';
import type { AskedQuestions } from '../protocol/questions.js';
import { parseOutcome } from '../protocol/wire-outcome.js';
import type { ClaimedRun } from '../store/row/claimed-run.js';
import { type HostProgram, LastLines, onLines, parseHang, startChild } from './child.js';
import { LoadView, ThreadView, denialOf, type StateKeeper } from './state-keeper.js';

/** Runs that any host is given at once: the smallest machine bears as many, whatever the graphs do. */
const FIRST = 10;

/** Answer time of a quick host: it has begun its runs and waits for something else. */
const QUICK_MS = 100;

/** Timers that are later on average: the host computes. */
const BUSY_LAG_MS = 50;
const OVERLOADED_LAG_MS = 200;

/** Used parts of the heap: no more runs, fewer runs. */
const TIGHT_HEAP = 0.7;
const FULL_HEAP = 0.85;

/** Places count as used from this part on: more of them would change something. */
const IN_USE = 0.75;

interface HostLoad {
  /** Average delay of its timers. */
  readonly lagMs: number;
  /** Used part of its heap. */
  readonly heapShare: number;
}

/**
 * Number of runs that may be in progress at once. Agents mostly wait for models, hundreds of them in one
 * process; a graph that computes would be slower with each that is beside it. This shows only once the runs
 * are in progress, so runs are given in portions: ten, and twice as many each time that the host answers a
 * question within 100 ms while all places are used. Late timers and a full heap take places away, down to
 * those ten; places that stayed unused for a while are given anew in the same way.
 */
export class RunCapacity {
  #places: number;
  #load: HostLoad = { lagMs: 0, heapShare: 0 };

  constructor(private readonly most: number) {
    this.#places = Math.min(FIRST, most);
  }

  get places(): number {
    return this.#places;
  }

  /** Takes the answer of a host that was given runs. @returns true when there are more places now */
  answered(afterMs: number, used: number): boolean {
    if (afterMs > QUICK_MS || !this.#isFree || used < this.#places * IN_USE) return false;
    return this.#set(this.#places * 2);
  }

  /**
   * Takes the report that a host sends a few times a second: it may be older than the runs that the host was
   * given, and adds none.
   */
  reported(load: HostLoad, used: number): void {
    this.#load = load;
    if (load.lagMs > OVERLOADED_LAG_MS || load.heapShare > FULL_HEAP)
      this.#set(Math.min(this.#places, used) * 0.75);
    else if (used < this.#places / 2) this.#set(this.#places * 0.9);
  }

  get #isFree(): boolean {
    return this.#load.lagMs <= BUSY_LAG_MS && this.#load.heapShare <= TIGHT_HEAP;
  }

  #set(places: number): boolean {
    const before = this.#places;
    this.#places = Math.min(this.most, Math.max(Math.min(FIRST, this.most), Math.floor(places)));
    return this.#places > before;
  }
}

/** Bytes of a frame beside its text. */
const FRAME_EXTRA_BYTES = 2 ** 20;

/** Time for a host that is to end to send output that waits elsewhere. */
const LEAVE_MS = 5_000;

/** Listener for the load of hosts. */
export interface LoadListener {
  /** The host that was asked has begun all runs that it was given before. */
  answered(afterMs: number): void;
  reported(load: HostLoad): void;
}

export interface GraphProcessParts {
  readonly onLoad?: LoadListener;
  /** Name of the process in messages; a graph host by default. */
  readonly name?: string;
  readonly order: LoadOrder;
  /** Texts of the greatest length in one frame; three by default: the end of a run holds its result, its values and its questions. */
  readonly textsOfFrame?: number;
  readonly program: HostProgram;
  /** Reads and writes for hosts without a database of their own; others ask for no state. */
  readonly keeper?: Promise<StateKeeper>;
  /** Receives the sources of the graphs. */
  readonly reports: SeenSources;
  /** Address of the server of these graphs; resolves once that listens. */
  readonly ownUrl: Promise<string>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface RunThere {
  readonly run: ClaimedRun;
  readonly sink: OutputSink;
  readonly resolve: (outcome: Outcome | GoneWith) => void;
}

interface Asked {
  readonly resolve: (answer: string) => void;
  readonly reject: (error: unknown) => void;
}

/** The process ended under a run. */
export interface GoneWith {
  readonly kind: 'gone';
  /** Runs that were in it, this one included. */
  readonly runs: readonly ClaimedRun[];
  /** The server ended it because of something that one of the runs did. */
  readonly wasKilled: boolean;
  /** The same for all of them. */
  readonly error: Error;
}

/** One graph host: a process that has an agent's graphs loaded, and the channel to it. */
export class GraphProcess {
  /** Resolves once every graph is loaded; rejects with a TerminalError when one does not load, or when the process ends. */
  readonly loaded: Promise<void>;
  /** Resolves with how it ended. */
  readonly ended: Promise<Error>;
  /** Threads held by plain functions in Python. */
  readonly threads: ThreadView;
  readonly #child: ChildProcess;
  readonly #channel: Channel;
  readonly #runs = new Map<number, RunThere>();
  readonly #asked = new Map<number, Asked>();
  readonly #load: LoadView;
  readonly #stderr = new LastLines();
  readonly #loading = Promise.withResolvers<void>();
  #nextId = 1;
  #end: Error | undefined;
  #heardAtMs: number;
  #lagMs = 0;
  #heapShare = 0;
  #echoFromMs: number | undefined;
  #isLoaded = false;
  #library: string | undefined;
  #giving: Promise<void> = Promise.resolve();
  #wasKilled = false;
  #endedIdle = false;
  /** Inputs that are read for it. */
  #awaited = 0;
  #leaving: Promise<void> | undefined;

  /** @throws Error when the machine has no memory or no descriptors for one */
  constructor(private readonly parts: GraphProcessParts) {
    const { order, program, clock, textsOfFrame = 3 } = parts;
    this.#load = new LoadView(order, clock);
    this.threads = new ThreadView(clock);
    this.#heardAtMs = clock.monotonicMs();
    const { child, ended } = program.take?.() ?? startChild({ ...program, folder: order.folder }, clock);
    this.#child = child;
    this.loaded = this.#loading.promise;
    this.loaded.catch(() => undefined); // its callers handle the rejection
    this.#channel = new Channel(
      this.#child.stdio[FRAMES_FD] as Duplex,
      textsOfFrame * order.maxTextBytes + FRAME_EXTRA_BYTES,
    );
    this.#channel.listen(
      (frame) => this.#receive(frame),
      (error) => this.#closed(error),
    );
    this.#channel.send(toHost({ kind: 'load', ...order, ...program.instead }));
    this.#channel.flush();
    void parts.ownUrl.then((url) => this.send({ kind: 'serving', url }, 0)).catch(() => undefined);
    this.#readLines();
    this.ended = ended.then((end) => this.#gone(end));
  }

  /** True when it ended while it was idle, and was not killed. */
  get endedIdle(): boolean {
    return this.#endedIdle;
  }

  /** Version of LangGraph in it; undefined until it is loaded, and of an agent without one. */
  get library(): string | undefined {
    return this.#library;
  }

  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Runs in progress there. */
  get runs(): ClaimedRun[] {
    return [...this.#runs.values()].map(({ run }) => run);
  }

  get runCount(): number {
    return this.#runs.size;
  }

  /** True when it has neither runs nor questions, and none is on its way. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && this.#asked.size === 0 && this.#awaited === 0;
  }

  get isLeaving(): boolean {
    return this.#leaving !== undefined;
  }

  /** Milliseconds since it was last heard of; it reports four times a second. */
  get silentMs(): number {
    return this.#isLoaded ? this.parts.clock.monotonicMs() - this.#heardAtMs : 0;
  }

  /** Average delay of its timers. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** Used part of the heap that it may use. */
  get heapShare(): number {
    return this.#heapShare;
  }

  /** Progress of the load; undefined once it is complete. */
  describeLoad(): string | undefined {
    return this.#isLoaded ? undefined : this.#load.describe();
  }

  /** Begins a run there. @param input JSON text. @returns its number, and its end */
  begin(
    run: ClaimedRun,
    input: string,
    sink: OutputSink,
  ): { readonly id: number; readonly ended: Promise<Outcome | GoneWith> } {
    const id = this.#nextId++;
    const ended = new Promise<Outcome | GoneWith>((resolve) => {
      if (this.#end) return resolve({ kind: 'gone', runs: [], wasKilled: true, error: this.#end });
      this.#runs.set(id, { run, sink, resolve });
      const wanted = { isWanted: sink.isWanted(), isAwaited: sink.isAwaited() };
      this.send({ kind: 'perform', ...wanted }, id, attemptText(run, input));
      this.#askEcho();
    });
    return { id, ended };
  }

  /**
   * Has large inputs read one after another, each once the one before has been sent to the host: all of them
   * together would be held here while the host is busy.
   */
  inTurn<T>(give: () => Promise<T>): Promise<T> {
    this.#awaited++;
    const turn = this.#giving.then(give).finally(() => this.#awaited--);
    this.#giving = turn.then(
      () => this.#channel.room(),
      () => undefined,
    );
    return turn;
  }

  #askEcho(): void {
    if (this.#echoFromMs !== undefined || !this.parts.onLoad) return;
    this.#echoFromMs = this.parts.clock.monotonicMs();
    this.send({ kind: 'echo' }, 0);
  }

  send(message: ToHost, id: number, body: Sent = ''): void {
    this.#channel.send(toHost(message, id, body));
  }

  /**
   * @param signal takes the question back, with its reason
   * @returns JSON text
   * @throws PublicError; Error for a failure inside
   */
  ask<K extends keyof AskedQuestions>(
    kind: K,
    question: AskedQuestions[K],
    signal?: AbortSignal,
  ): Promise<string> {
    return this.askText(kind, () => JSON.stringify(question), signal);
  }

  /** The same with the JSON text of a question, which is made for a process that lives. */
  askText(kind: keyof AskedQuestions, make: () => Sent, signal?: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#unavailable());
      signal?.throwIfAborted();
      const id = this.#nextId++;
      const text = make();
      this.#asked.set(id, { resolve, reject });
      this.send({ kind: 'ask', question: kind }, id, text);
      signal?.addEventListener('abort', () => this.#takeBack(id, signal.reason as Error), { once: true });
    });
  }

  /** Forgets a question: its answer would come too late. */
  #takeBack(id: number, reason: Error): void {
    const asked = this.#takeAsked(id);
    if (!asked) return;
    asked.reject(reason);
    if (!this.#end) this.send({ kind: 'stop', reason: 'lost' }, id);
  }

  /** Gives up the questions that wait for a host that does not answer. */
  giveUpQuestions(): void {
    for (const { reject } of this.#asked.values()) reject(this.#unavailable());
    this.#asked.clear();
  }

  kill(): void {
    this.#wasKilled = true;
    this.#child.kill('SIGKILL');
  }

  /** Lets it send output that waits elsewhere and end; kills it when that takes too long. */
  leave(): Promise<void> {
    return (this.#leaving ??= this.#leave());
  }

  async #leave(): Promise<void> {
    this.#channel.send(toHost({ kind: 'leave' }));
    this.#channel.flush();
    const cancel = this.parts.clock.after(LEAVE_MS, () => this.kill());
    await this.ended;
    cancel();
  }

  #receive(frame: Frame): void {
    const { message, id, body } = parseFromHost(frame);
    this.#heardAtMs = this.parts.clock.monotonicMs();
    switch (message.kind) {
      case 'event':
        return this.#runs.get(id)?.sink.emit({ event: message.event, data: body });
      case 'outcome':
        return this.#settle(id, message.outcome, body.toString());
      case 'answer':
        return this.#takeAsked(id)?.resolve(body.toString());
      case 'trouble':
        return this.#takeAsked(id)?.reject(errorOf(message.trouble));
      case 'health':
        this.#lagMs = message.lagMs;
        this.#heapShare = message.heapShare;
        if (message.threads) this.threads.see(message.threads);
        this.parts.onLoad?.reported(message);
        if (this.#runs.size > 0) this.#askEcho();
        return undefined;
      case 'echo': {
        const fromMs = this.#echoFromMs ?? this.#heardAtMs;
        this.#echoFromMs = undefined;
        return this.parts.onLoad?.answered(this.#heardAtMs - fromMs);
      }
      case 'loading':
        return this.#load.see(message);
      case 'sources':
        return this.parts.reports.sources(message.files);
      case 'loaded':
        for (const url of message.packages) this.parts.reports.package(url);
        this.#library = message.library;
        this.#isLoaded = true;
        return this.#loading.resolve();
      case 'fetch':
        return void this.#fetch(message, id, body);
      case 'refused':
        return this.#loading.reject(new TerminalError(REASON.graphLoadFailed, message.message));
      default:
        return message satisfies never;
    }
  }

  /** @throws Error for an outcome that cannot be read, by which its run has failed */
  #settle(id: number, outcome: WireOutcome, text: string): void {
    const there = this.#runs.get(id);
    this.#runs.delete(id);
    try {
      there?.resolve(parseOutcome(outcome, text));
    } catch (error) {
      const failed = unreadableOutcome(errorText(error));
      if (there?.sink.isWanted()) there.sink.emit({ event: 'error', data: JSON.stringify(failed.end.error) });
      there?.resolve(failed);
      throw error;
    }
  }

  /** Answers a fetch, in the order of arrival when it matters: a run waits for its writes. */
  async #fetch(asked: Fetch, id: number, body: Buffer): Promise<void> {
    try {
      // the bytes are a view of the read buffer
      const bytes = Buffer.from(body);
      const keeper = await this.parts.keeper;
      if (!keeper) throw new Error(`the ${this.#name} asks for states, of which it has none`);
      const found = await keeper.fetch(asked, bytes, (run) => this.#runs.get(run)?.run);
      this.#channel.send(toHost({ kind: 'fetched', ...found.head }, id, found.body));
    } catch (error) {
      this.#channel.send(toHost(denialOf(error), id));
    }
  }

  /**
   * A broken socket is followed by the end of the process. A process that sends an unreadable frame is ended,
   * since it may compute for long before it reads its socket, and its runs continue in another.
   */
  #closed(error: Error | undefined): void {
    if (!error || 'syscall' in error) return;
    this.parts.log.error(
      { error: errorText(error) },
      `message of the ${this.#name} refused; its process is killed`,
    );
    this.#child.kill('SIGKILL');
  }

  get #name(): string {
    return this.parts.name ?? 'graph host';
  }

  #unavailable(): PublicError {
    const message = `The ${this.#name} does not answer; retry`;
    return new PublicError('unavailable', message, [], { retryAfterSeconds: 1 });
  }

  #takeAsked(id: number): Asked | undefined {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    return asked;
  }

  #readLines(): void {
    const { log } = this.parts;
    // complete lines: the server writes to the same stream
    onLines(this.#child.stderr as Readable, (line) => {
      this.#stderr.add(line);
      process.stderr.write(`${line}\n`);
    });
    onLines(this.#child.stdio[WATCH_FD] as Readable, (line) => {
      const hang = parseHang(line);
      if (!hang) return;
      const at = this.#load.inFolder(hang.stack.join(' < '));
      this.#load.seeHang(at);
      log.warn({ ...hang, stack: at, runs: this.runs.map(({ runId }) => runId) }, `${this.#name} hangs`);
    });
  }

  #gone(end: string | Error): Error {
    const said = this.#stderr.text;
    const how = typeof end === 'string' ? end : end.message;
    const error = new Error(`${this.#name} ended: ${how}${said === '' ? '' : `; it wrote: ${said}`}`);
    this.#end = error;
    this.#loading.reject(error);
    const { runs } = this;
    this.#endedIdle = this.#isLoaded && !this.#wasKilled && this.isIdle;
    for (const { resolve } of this.#runs.values())
      resolve({ kind: 'gone', runs, wasKilled: this.#wasKilled, error });
    this.#runs.clear();
    this.giveUpQuestions();
    return error;
  }
}

function errorOf(trouble: Trouble): Error {
  switch (trouble.kind) {
    case 'public':
      return new PublicError(trouble.code, trouble.message);
    case 'database':
      return trouble.trouble === 'refused'
        ? new PublicError('bad_request', 'The request holds a value that cannot be stored or searched for')
        : new PublicError('unavailable', 'Database unavailable; retry');
    case 'failed': {
      const error = new Error(trouble.message);
      error.stack = trouble.stack;
      return error;
    }
    default:
      return trouble satisfies never;
  }
}
