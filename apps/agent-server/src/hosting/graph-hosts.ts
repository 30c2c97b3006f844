import { Backoff } from '#lib/time';
import { PublicError } from '#lib/errors';
import { parseShort } from '#lib/json';
import { metrics } from '#lib/telemetry';
import { Turns } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import { GraphProcess, type GraphProcessParts, type GoneWith, RunCapacity } from './graph-process.js';
import type { DescribedGraphs, GraphSchemas } from '../graph/graph-schemas.js';
import type { Embedder } from '../memory/item-index.js';
import type { Execution, OutputSink } from '../protocol/execution.js';
import type { AskedQuestions, QuestionKind } from '../protocol/questions.js';
import type { ClaimedRun } from '../store/row/claimed-run.js';
import { HostedExecution, type Place, type ReadInput } from './hosted-execution.js';
import { Seat } from './seat.js';
import { SpareHost } from './spare-host.js';

/** Runs that are tried again together in a separate host. */
interface Group {
  /** Start by the monotonic clock, in milliseconds. */
  readonly sinceMs: number;
  users: number;
  host: Promise<GraphProcess> | undefined;
  release: (() => void) | undefined;
}

/** Pauses after a host that did not start. */
const PAUSES = { firstMs: 100, longestMs: 10_000 };

/** A run that has not come back by then was cancelled, or another server has it. */
const FORGOTTEN_MS = 60 * 60_000;

/** A run's place in a host of its group. */
export interface QuarantinePlace {
  /** Rejects when the host does not start. */
  readonly host: Promise<GraphProcess>;
  /** @param isCleared the run has ended, and its host has not */
  leave(isCleared: boolean): void;
}

/**
 * Host for runs that were in a host when it ended, since one of them may have ended it.
 *
 * If there were several, none is to blame yet: they are divided into groups, as many as a group has
 * members, and tried again, a group at a time, in a host apart from those of other runs. A group whose host
 * ends again is divided again, so that after two or three times the culprit is alone; a run that was alone in
 * its host pays for the end with one of its attempts. The other runs lose only time.
 */
export class Quarantine {
  readonly #groups = new Map<string, Group>();
  readonly #turns = new Turns({ places: 1, maxWaiting: Infinity, what: 'Hosts of accused runs' });
  readonly #startPauses: Backoff;
  #ready: GraphProcess | undefined;

  constructor(private readonly parts: GraphProcessParts) {
    this.#startPauses = new Backoff(parts.clock, PAUSES);
  }

  /** The host of the group that is being tried; undefined while none has loaded. */
  get ready(): GraphProcess | undefined {
    return this.#ready;
  }

  /** The host of these runs ended; they come back as further attempts, or never. */
  accuse(runIds: readonly string[]): void {
    this.#forget();
    const size = Math.max(1, Math.floor(Math.sqrt(runIds.length)));
    for (let at = 0; at < runIds.length; at += size) {
      const group = this.#newGroup();
      for (const runId of runIds.slice(at, at + size)) this.#groups.set(runId, group);
    }
  }

  /** Number of runs to be tried again. */
  get size(): number {
    return this.#groups.size;
  }

  has(runId: string): boolean {
    return this.#groups.has(runId);
  }

  /** Waits until the run's group is tried, and shares its host. */
  enter(runId: string): QuarantinePlace {
    const group = this.#groups.get(runId) ?? this.#newGroup();
    this.#groups.set(runId, group);
    group.users++;
    group.host ??= this.#open(group);
    return {
      host: group.host,
      leave: (isCleared) => {
        if (isCleared && this.#groups.get(runId) === group) this.#groups.delete(runId);
        group.users--;
        if (group.users === 0) group.release?.();
      },
    };
  }

  #newGroup(): Group {
    const sinceMs = this.parts.clock.monotonicMs();
    return { sinceMs, users: 0, host: undefined, release: undefined };
  }

  /** Forgets old groups: a host may end many times under runs that never come back. */
  #forget(): void {
    const untilMs = this.parts.clock.monotonicMs() - FORGOTTEN_MS;
    for (const [runId, { sinceMs, users }] of this.#groups)
      if (users === 0 && sinceMs < untilMs) this.#groups.delete(runId);
  }

  #open(group: Group): Promise<GraphProcess> {
    return new Promise((resolve, reject) => {
      void this.#turns.take(WORKER, async () => {
        const over = new Promise<void>((done) => (group.release = done));
        if (group.users === 0) group.release?.(); // every run left while it waited
        let process: GraphProcess | undefined;
        try {
          process = new GraphProcess(this.parts);
          await Promise.race([process.loaded, over]); // a load may wait indefinitely, its runs may not
          this.#startPauses.reset();
          this.#ready = process;
          resolve(process);
        } catch (error) {
          // also where the machine has no memory or no descriptors for one; the runs come back at once
          await this.#startPauses.pause();
          reject(error);
        }
        await over;
        this.#ready = undefined;
        group.host = undefined;
        await process?.leave();
      });
    });
  }
}

/** Limit of the vectors of a batch of texts. */
const MAX_VECTORS_CHARS = 64 * 1024 * 1024;

/**
 * The model of the agent's store, which is the agent's own code and is called in the process of its graphs.
 */
export function hostEmbedder(hosts: Pick<GraphHosts, 'ask'>): Embedder {
  const ask = async (texts: readonly string[], isQuery: boolean, signal?: AbortSignal): Promise<unknown> =>
    parseShort(await hosts.ask('embed', { texts, isQuery }, signal), MAX_VECTORS_CHARS);
  return {
    embedDocuments: (texts, signal) => ask(texts, false, signal),
    embedQuery: (text, signal) => ask([text], true, signal),
  };
}

/** A host that was not heard of for so long executes one thing and nothing else. */
const SILENT_MS = 5_000;

/** Questions wait for a host so long; a history of a large state takes its time. */
const QUESTION_MS = 30_000;

/**
 * Limit per question: one that takes longer waits for something else, and only a few run at once for all
 * callers.
 */
const ANSWER_MS = 60_000;

/**
 * Time without a free thread after which a host is ended: plain functions hold them all and do not return.
 */
const STARVED_MS = 30_000;

const LOOK_MS = 1_000;

/** Limit of the schemas of one graph, which its author wrote. */
const MAX_SCHEMAS_CHARS = 8 * 1024 * 1024;

export interface GraphHostsParts extends GraphProcessParts {
  /** Hosts at a time. */
  readonly count: number;
  /** One more waits, loaded, once a host has ended. */
  readonly hasSpare: boolean;
  /** Limit of runs in progress at once. */
  readonly maxRuns: number;
}

/**
 * The graph hosts of this server: separate processes that load and run the graphs of the agent, so that code
 * of others can harm no more than the runs beside it.
 */
export class GraphHosts implements DescribedGraphs {
  readonly #seats: readonly Seat<GraphProcess>[];
  readonly #spare: SpareHost<GraphProcess>;
  readonly #quarantine: Quarantine;
  /** Hosts that hung, whose place the spare has: they end after their runs. */
  readonly #left = new Set<GraphProcess>();
  readonly #capacity: RunCapacity;
  /** Called when there are more places than before. */
  onRoom: (() => void) | undefined;
  /** Ends of hosts whose runs are accused already. */
  readonly #blamed = new WeakSet<Error>();
  readonly #endReading: () => void;
  #cancelLook: (() => void) | undefined;
  #reported: readonly GraphProcess[] = [];

  /** Starts loading. */
  constructor(private readonly parts: GraphHostsParts) {
    this.#capacity = new RunCapacity(parts.maxRuns);
    const onLoad = {
      answered: (afterMs: number) => this.#grown(this.#capacity.answered(afterMs, this.#runCount)),
      reported: () => this.#capacity.reported(this, this.#runCount),
    };
    const make = (): GraphProcess => new GraphProcess({ ...parts, onLoad });
    this.#spare = new SpareHost({ ...parts, make });
    this.#seats = Array.from(
      { length: parts.count },
      () =>
        new Seat({
          ...parts,
          name: 'graph host',
          make,
          spare: () => this.#spare.take(),
          onEnd: () => this.#hostEnded(),
        }),
    );
    this.#quarantine = new Quarantine(parts);
    this.#endReading = metrics.agentGraphHostSilence.read(() => this.#silentMs / 1000);
    this.#look();
  }

  #hostEnded(): void {
    metrics.agentGraphHostEnds.add(1);
    if (this.parts.hasSpare) this.#spare.keep();
  }

  /** @throws TerminalError `GraphLoadFailed` */
  async load(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => seat.firstLoad));
  }

  /** Version of LangGraph that the graphs import. */
  get library(): string | undefined {
    return this.#ready[0]?.library;
  }

  /** Progress of the load. */
  describeLoad(): string {
    return this.#seats[0]?.describeLoad() ?? 'starting';
  }

  /** Problem of the hosts while the server continues; undefined while all is well. */
  get note(): string | undefined {
    const hung = this.#hung[0];
    if (hung) {
      const seconds = Math.floor(hung.silentMs / 1000);
      return `graph host has not answered for ${seconds} s; a node of one of its ${hung.runs.length} runs executes without a pause`;
    }
    const trouble = this.#seats.find((seat) => seat.trouble !== undefined)?.trouble;
    return trouble ?? this.#describeThreads();
  }

  #describeThreads(): string | undefined {
    const found = this.#all.map(
      ({ threads }) =>
        threads.describeWaiting('nodes that are plain functions') ?? threads.describeStuck('nodes'),
    );
    const text = found.find((one) => one !== undefined);
    return text === undefined ? undefined : `graph host: ${text}`;
  }

  /**
   * Reason why no host of this server lives for long, independent of its requests; undefined while one does.
   */
  get failing(): string | undefined {
    const found = this.#seats.map(({ failing }) => failing);
    return found.includes(undefined) ? undefined : found[0];
  }

  /** Number of times in a row that every host of this server has ended while idle. */
  get idleEnds(): number {
    return Math.min(...this.#seats.map(({ idleEnds }) => idleEnds));
  }

  /** Limit of runs in progress at once, by the present load of the hosts. */
  get places(): number {
    const left = [...this.#left].reduce((sum, { runCount }) => sum + runCount, 0);
    return Math.min(this.parts.maxRuns, this.#capacity.places + left);
  }

  /** Delay of the hosts' timers: that of the best one. */
  get lagMs(): number {
    return Math.min(...this.#ready.map(({ silentMs, lagMs }) => Math.max(lagMs, silentMs - 500)));
  }

  /** Used part of the heap, of the host with the most free heap. */
  get heapShare(): number {
    return Math.min(...this.#ready.map(({ heapShare }) => heapShare));
  }

  #grown(hasMore: boolean): void {
    if (hasMore) this.onRoom?.();
  }

  get #runCount(): number {
    return this.#ready.reduce((sum, { runCount }) => sum + runCount, 0);
  }

  get #ready(): GraphProcess[] {
    return this.#seats.flatMap(({ ready }) => ready ?? []);
  }

  /**
   * All hosts, including those of accused runs: the server watches them alike, and gives them no other runs.
   */
  get #all(): GraphProcess[] {
    return [...this.#seats, this.#quarantine].flatMap(({ ready }) => ready ?? []).concat(...this.#left);
  }

  get #hung(): GraphProcess[] {
    return this.#all.filter(({ silentMs }) => silentMs > SILENT_MS);
  }

  get #silentMs(): number {
    return Math.max(0, ...this.#all.map(({ silentMs }) => silentMs));
  }

  execution(run: ClaimedRun, sink: OutputSink, readInput: ReadInput): Execution {
    const enter = (): Place => (this.#quarantine.has(run.runId) ? this.#apart(run) : this.#together());
    return new HostedExecution(run, { enter, sink, readInput, clock: this.parts.clock });
  }

  /**
   * Asks about a graph or a state, for a minute at most: a function that makes a graph may wait indefinitely.
   * @param signal takes the question back, with its reason
   * @returns JSON text
   * @throws PublicError
   */
  async ask<K extends QuestionKind>(
    kind: K,
    question: AskedQuestions[K],
    signal?: AbortSignal,
  ): Promise<string> {
    const host = this.#best();
    if (!host) throw new PublicError('unavailable', 'The graph host is starting; retry');
    const late = new AbortController();
    const cancel = this.parts.clock.after(ANSWER_MS, () =>
      late.abort(
        new PublicError(
          'unavailable',
          `Graph host did not answer the question about the ${kind} within ${ANSWER_MS / 1000} s; retry`,
        ),
      ),
    );
    try {
      return await host.ask(kind, question, signal ? AbortSignal.any([signal, late.signal]) : late.signal);
    } finally {
      cancel();
    }
  }

  descriptionOf(graphId: string): string | undefined {
    return this.parts.order.graphs.find((graph) => graph.graphId === graphId)?.description;
  }

  async schemasOf(graphId: string): Promise<GraphSchemas> {
    return parseShort(await this.ask('schemas', { graphId }), MAX_SCHEMAS_CHARS) as GraphSchemas;
  }

  async stop(): Promise<void> {
    this.#cancelLook?.();
    this.#endReading();
    const left = [...this.#left].map((host) => host.leave());
    await Promise.all([this.#spare, ...this.#seats].map((one) => one.stop()).concat(left));
  }

  /** The host that answers and has the fewest runs. */
  #best(): GraphProcess | undefined {
    const ready = this.#ready;
    const answering = ready.filter(
      ({ silentMs, threads }) => silentMs < SILENT_MS / 2 && threads.starvedMs === undefined,
    );
    const [best] = (answering.length > 0 ? answering : ready).toSorted(
      (one, other) => one.runCount - other.runCount,
    );
    return best;
  }

  #together(): Place {
    const best = this.#best();
    const host = best ? Promise.resolve(best) : Promise.race(this.#seats.map((seat) => seat.nextReady));
    return { host, leave: (end) => ({ isCharged: this.#blame(end) }) };
  }

  #apart({ runId }: ClaimedRun): Place {
    const { host, leave } = this.#quarantine.enter(runId);
    return {
      host,
      leave: (end) => {
        leave(end === undefined);
        return { isCharged: this.#blame(end) };
      },
    };
  }

  /**
   * Accuses the runs that were in a host when it ended, once for each end.
   * @returns true when a run was alone there and is to blame
   */
  #blame(end: GoneWith | undefined): boolean {
    if (!end || end.wasKilled) return false;
    if (!this.#blamed.has(end.error)) {
      this.#blamed.add(end.error);
      this.#quarantine.accuse(end.runs.map(({ runId }) => runId));
    }
    return end.runs.length === 1;
  }

  /**
   * Gives the place of a host that hangs to the spare, so that its runs alone wait for it. One at a time: each keeps a
   * core at work.
   */
  #replaceHung(hung: readonly GraphProcess[]): void {
    for (const host of this.#left) if (host.isIdle) void host.leave();
    const seat = this.#seats.find(({ ready }) => ready && hung.includes(ready));
    if (!seat || !this.parts.hasSpare || this.#left.size > 0) return;
    this.#spare.keep();
    const spare = this.#spare.take();
    if (!spare) return;
    const host = seat.replace(spare);
    this.#left.add(host);
    void host.ended.then(() => {
      this.#left.delete(host);
      if (!host.isLeaving) this.#hostEnded();
    });
    this.parts.log.warn(
      { pid: host.pid, spare: spare.pid },
      'graph host hangs; one that has loaded takes its place',
    );
  }

  /** Names hosts that hang, once each time, and replaces them and those whose threads are lost. */
  #look(): void {
    const { clock, log } = this.parts;
    for (const host of this.#all) {
      const starvedMs = host.threads.starvedMs ?? 0;
      if (starvedMs <= STARVED_MS || host.wasKilled) continue;
      const runs = host.runs.map(({ runId, graphId }) => ({ runId, graphId }));
      log.error(
        { starvedMs, runs },
        'nodes that did not end hold all threads of the graph host; it is ended',
      );
      host.kill();
    }
    const hung = this.#hung;
    for (const host of hung) {
      if (host.silentMs > QUESTION_MS) host.giveUpQuestions();
      if (this.#reported.includes(host)) continue;
      const runs = host.runs.map(({ runId, graphId }) => ({ runId, graphId }));
      log.warn({ silentMs: Math.round(host.silentMs), runs }, 'graph host has not answered for 5 s');
    }
    this.#reported = hung;
    this.#replaceHung(hung);
    this.#cancelLook = clock.after(LOOK_MS, () => this.#look());
  }
}
