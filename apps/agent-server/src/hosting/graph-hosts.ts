import { PublicError } from '#lib/errors';
import { parseShort } from '#lib/json';
import { metrics } from '#lib/telemetry';
import type { DescribedGraphs, GraphSchemas } from '../graph/graph-schemas.js';
import type { Embedder } from '../memory/item-index.js';
import type { Execution, OutputSink } from '../protocol/execution.js';
import type { AskedQuestions, QuestionKind } from '../protocol/questions.js';
import type { ClaimedRun } from '../store/row/claimed-run.js';
import { type GoneWith, GraphProcess, type GraphProcessParts } from './graph-process.js';
import { HostedExecution, type Place, type ReadInput } from './hosted-execution.js';
import { Quarantine } from './quarantine.js';
import { RunCapacity } from './run-capacity.js';
import { Seat } from './seat.js';

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
  /** Limit of runs in progress at once. */
  readonly maxRuns: number;
}

/**
 * The graph hosts of this server: separate processes that load and run the graphs of the agent, so that code
 * of others can harm no more than the runs beside it.
 */
export class GraphHosts implements DescribedGraphs {
  readonly #parts: GraphHostsParts;
  readonly #seats: readonly Seat<GraphProcess>[];
  readonly #quarantine: Quarantine;
  readonly #capacity: RunCapacity;
  /** Called when there are more places than before. */
  onRoom: (() => void) | undefined;
  /** Ends of hosts whose runs are accused already. */
  readonly #blamed = new WeakSet<Error>();
  readonly #endReading: () => void;
  #cancelLook: (() => void) | undefined;
  #reported: readonly GraphProcess[] = [];

  /** Starts loading. */
  constructor(parts: GraphHostsParts) {
    this.#parts = parts;
    this.#capacity = new RunCapacity(parts.maxRuns);
    const onLoad = {
      answered: (afterMs: number) => this.#grown(this.#capacity.answered(afterMs, this.#runCount)),
      reported: () => this.#capacity.reported(this, this.#runCount),
    };
    this.#seats = Array.from(
      { length: parts.count },
      () =>
        new Seat({
          ...parts,
          name: 'graph host',
          make: () => new GraphProcess({ ...parts, onLoad }),
          onEnd: () => metrics.agentGraphHostEnds.add(1),
        }),
    );
    this.#quarantine = new Quarantine(parts);
    this.#endReading = metrics.agentGraphHostSilence.read(() => this.#silentMs / 1000);
    this.#look();
  }

  /** @throws TerminalError `GraphLoadFailed` */
  async load(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => seat.firstLoad));
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
    return this.#capacity.places;
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
    return [...this.#seats, this.#quarantine].flatMap(({ ready }) => ready ?? []);
  }

  get #hung(): GraphProcess[] {
    return this.#all.filter(({ silentMs }) => silentMs > SILENT_MS);
  }

  get #silentMs(): number {
    return Math.max(0, ...this.#all.map(({ silentMs }) => silentMs));
  }

  execution(run: ClaimedRun, sink: OutputSink, readInput: ReadInput): Execution {
    const enter = (): Place => (this.#quarantine.has(run.runId) ? this.#apart(run) : this.#together());
    return new HostedExecution(run, { enter, sink, readInput, clock: this.#parts.clock });
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
    const cancel = this.#parts.clock.after(ANSWER_MS, () =>
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
    return this.#parts.order.graphs.find((graph) => graph.graphId === graphId)?.description;
  }

  async schemasOf(graphId: string): Promise<GraphSchemas> {
    return parseShort(await this.ask('schemas', { graphId }), MAX_SCHEMAS_CHARS) as GraphSchemas;
  }

  async stop(): Promise<void> {
    this.#cancelLook?.();
    this.#endReading();
    await Promise.all(this.#seats.map((seat) => seat.stop()));
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

  /** Names hosts that hang, once each time, and replaces those whose threads are lost. */
  #look(): void {
    const { clock, log } = this.#parts;
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
    this.#cancelLook = clock.after(LOOK_MS, () => this.#look());
  }
}
