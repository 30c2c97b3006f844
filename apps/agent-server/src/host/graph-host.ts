import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { adoptEnvironment } from '#lib/config';
import { errorText, PublicError, TerminalError } from '#lib/errors';
import { parseJson } from '#lib/json';
import { postgresTrouble } from '#lib/postgres';
import { type Logger, withLogFields } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { loadEmbedder, loadPriority } from '../graph/agent-functions.js';
import { GraphRegistry } from '../graph/graph-registry.js';
import { awaitTokens, callStoreDirectly, importOfAgent } from '../graph/library-copies.js';
import { LoadProgress } from '../graph/load-progress.js';
import { offerLogger } from '../graph/offer-logger.js';
import { GraphStore } from '../memory/graph-store.js';
import { ItemIndex } from '../memory/item-index.js';
import { ItemStore } from '../memory/item-store.js';
import type { Channel } from '../protocol/channel.js';
import { type AttemptedRun, type StopReason, textTrouble } from '../protocol/execution.js';
import type { Frame } from '../protocol/frame.js';
import {
  fromHost,
  type FromHost,
  type LoadOrder,
  parseToHost,
  type ToHost,
  type Trouble,
  type Wanted,
} from '../protocol/messages.js';
import type { AskedQuestions, QuestionKind, Questions } from '../protocol/questions.js';
import { renderOutcome, shortMessage } from '../protocol/wire-outcome.js';
import { StateWriter } from '../store/checkpoint/put-states.js';
import { Database } from '../store/database.js';
import { WORKER } from '../store/worker-scope.js';
import { runLogFields } from '../wire/run-log-fields.js';
import { SecretWords } from '../wire/secret-words.js';
import { GraphQuestions } from './graph-questions.js';
import { whileAtWork } from './host-process.js';
import { OwnServer } from './own-server.js';
import { type ExecutionParts, type HostSink, RunExecution } from './run-execution.js';

/** An unavailable platform must not hold up the end of the server. */
const LONGEST_MS = 4_000;

/** Sends the traces that still wait in the agent's own copy of the tracing SDK. */
async function flushTraces(graphs: GraphRegistry, clock: Clock): Promise<void> {
  await Promise.race([flushAll(graphs), clock.sleep(LONGEST_MS)]);
}

async function flushAll(graphs: GraphRegistry): Promise<void> {
  const seen = new Set<unknown>();
  for (const source of graphs.sources) {
    const library = await importOfAgent(source.file, '@langchain/core', './callbacks/promises').catch(
      () => undefined,
    );
    const flush = library?.['awaitAllCallbacks'];
    if (typeof flush !== 'function' || seen.has(flush)) continue;
    seen.add(flush);
    await Reflect.apply(flush, undefined, []);
  }
}

/** Error of a failed question, as sent to the server; shortened, since the server limits the head of a frame. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof PublicError)
    return { kind: 'public', code: error.code, message: shortMessage(error.message) };
  const message = shortMessage(errorText(error));
  const trouble = postgresTrouble(error);
  if (trouble !== undefined)
    return { kind: 'database', trouble: trouble === 'refused' ? 'refused' : 'unavailable', message };
  const stack = error instanceof Error ? shortMessage(error.stack ?? message) : message;
  return { kind: 'failed', message, stack };
}

/** Interval between reports to the server that this process answers, with its delay. */
const HEALTH_MS = 250;

/** Runs that were just given have begun by then, and show whether they compute. */
const ECHO_MS = 5;

export interface GraphHostParts {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends the process. */
  readonly exit: (code: number) => void;
}

interface AtWork {
  readonly execution: RunExecution;
  wanted: Wanted;
  /** Set while the server asked for no more output. */
  held: PromiseWithResolvers<void> | undefined;
}

interface Loaded extends ExecutionParts {
  readonly questions: GraphQuestions;
}

/**
 * Loads the graphs of one agent and runs them, as its server asks by frames. Everything that has an agent's objects in
 * it lives here; the server sees texts.
 */
export class GraphHost {
  readonly #runs = new Map<number, AtWork>();
  readonly #ownServer = new OwnServer();
  readonly #delay: IntervalHistogram;
  #loaded: Loaded | undefined;

  constructor(private readonly parts: GraphHostParts) {
    this.#delay = monitorEventLoopDelay({ resolution: 10 });
    this.#delay.enable();
  }

  /** Handles a message of the server. */
  receive(frame: Frame): void {
    const { message, id, body } = parseToHost(frame);
    switch (message.kind) {
      case 'load':
        return void this.#load(message);
      case 'perform':
        return void this.#perform(id, parseJson(body.toString()) as AttemptedRun, message);
      case 'stop':
        this.#hold(id, false);
        return this.#runs.get(id)?.execution.stop(reasonOf(message));
      case 'wanted': {
        const run = this.#runs.get(id);
        if (run) run.wanted = message;
        return undefined;
      }
      case 'hold':
        return this.#hold(id, message.isHeld);
      case 'ask':
        return void this.#answer(id, message.question, body.toString());
      case 'echo':
        // a graph that computes keeps this timer waiting
        return void this.parts.clock.after(ECHO_MS, () => this.#send({ kind: 'echo' }));
      case 'serving':
        return this.#ownServer.serves(message.url);
      case 'leave':
        return void this.#leave();
      case 'fetched':
      case 'denied':
        return undefined; // it asks for nothing: it has a database of its own
      default:
        return message satisfies never;
    }
  }

  #hold(id: number, isHeld: boolean): void {
    const run = this.#runs.get(id);
    if (!run) return;
    if (isHeld) run.held ??= Promise.withResolvers();
    else {
      run.held?.resolve();
      run.held = undefined;
    }
  }

  #send(message: FromHost, id = 0, body = ''): void {
    this.parts.channel.send(fromHost(message, id, body));
  }

  async #load(order: LoadOrder): Promise<void> {
    const { channel, clock, log } = this.parts;
    log.level = order.logLevel;
    process.chdir(order.folder);
    adoptEnvironment(order.variables ?? {});
    offerLogger(log);
    const progress = new LoadProgress((place) => {
      this.#send({ kind: 'loading', ...place });
      channel.flush(); // the file that is evaluated next may never return
    });
    const cancelReports = repeat(clock, HEALTH_MS, () => progress.report());
    try {
      const packages = new Set<string>();
      const graphs = await GraphRegistry.load(order, progress, {
        sources: (files) => this.#send({ kind: 'sources', files }),
        package: (url) => packages.add(url),
      });
      for (const graphId of graphs.withOwnStore)
        log.warn({ graphId }, 'graph was compiled with a store of its own; the one of the server is used');
      this.#loaded = await this.#open(order, graphs);
      this.#send({ kind: 'loaded', packages: [...packages], library: graphs.library });
      repeat(clock, HEALTH_MS, () => this.#sendHealth());
    } catch (error) {
      const message = error instanceof TerminalError ? error.message : errorText(error);
      this.#send({ kind: 'refused', message: shortMessage(message) });
    } finally {
      cancelReports();
      progress.end();
    }
  }

  async #open(order: LoadOrder, graphs: GraphRegistry): Promise<Loaded> {
    const { clock, log } = this.parts;
    const secrets = new SecretWords(order.secrets);
    const { sql } = new Database({ uri: order.postgresUri, poolSize: order.poolSize, clock, log });
    const { ttl, index: settings } = order.store;
    const embedder = settings && (await loadEmbedder(order.folder, settings));
    const assign = order.priority && (await loadPriority(order.folder, order.priority));
    const index = settings && embedder && new ItemIndex({ ...settings, embedder, clock });
    const store = new GraphStore(new ItemStore({ sql, ttl, index, log }), WORKER, clock);
    for (const { file } of graphs.sources) {
      await callStoreDirectly(file, store);
      await awaitTokens(file);
    }
    const parts = { sql, writer: new StateWriter(sql), graphs, store, secrets, embedder, assign };
    const { maxTextBytes } = order;
    return { ...parts, maxTextBytes, clock, log, questions: new GraphQuestions(parts) };
  }

  async #perform(id: number, run: AttemptedRun, wanted: Wanted): Promise<void> {
    const loaded = this.#loaded;
    if (!loaded) throw new Error('a run came before the graphs were loaded');
    const { channel } = this.parts;
    const sink: HostSink = {
      emit: ({ event, data }) => this.#send({ kind: 'event', event }, id, data),
      isWanted: () => atWork.wanted.isWanted,
      isAwaited: () => atWork.wanted.isAwaited,
      room: () => atWork.held?.promise ?? channel.room(),
    };
    const atWork: AtWork = { execution: new RunExecution(run, loaded, sink), wanted, held: undefined };
    this.#runs.set(id, atWork);
    const performed = withLogFields(runLogFields(run), () =>
      whileAtWork(run, () => atWork.execution.perform()),
    );
    // the server is informed of every failure here: another attempt continues
    const { outcome, body } = renderOutcome(
      await performed.catch((error: unknown) => ({ kind: 'lost', error })),
    );
    this.#runs.delete(id);
    this.#send({ kind: 'outcome', outcome }, id, body);
  }

  async #answer(id: number, question: keyof AskedQuestions, body: string): Promise<void> {
    try {
      const questions = this.#loaded?.questions;
      if (!questions) throw new PublicError('unavailable', 'The graphs are not loaded yet; retry');
      const asked = parseJson(body) as Questions[QuestionKind];
      const answers: { readonly [K in QuestionKind]: (asked: never) => Promise<string> } = {
        state: (one: Questions['state']) => questions.state(one),
        values: (one: Questions['values']) => questions.values(one),
        history: (one: Questions['history']) => questions.history(one),
        update: (one: Questions['update']) => questions.update(one),
        drawing: (one: Questions['drawing']) => questions.drawing(one),
        schemas: (one: Questions['schemas']) => questions.schemas(one),
        subgraphs: (one: Questions['subgraphs']) => questions.subgraphs(one),
        embed: (one: Questions['embed']) => questions.embed(one),
        priority: (one: Questions['priority']) => questions.priority(one),
      };
      // questions about handlers and apps go to Python alone
      const text = await answers[question as QuestionKind](asked as never);
      const trouble =
        this.#loaded && textTrouble(`The answer about the ${question}`, text, this.#loaded.maxTextBytes);
      if (trouble !== undefined) throw new PublicError('too_large', trouble);
      this.#send({ kind: 'answer' }, id, text);
    } catch (error) {
      this.#send({ kind: 'trouble', trouble: troubleOf(error) }, id);
    }
  }

  #sendHealth(): void {
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    const lagMs = this.#delay.count === 0 ? 0 : Math.max(0, this.#delay.mean / 1e6 - 10);
    this.#delay.reset();
    this.#send({ kind: 'health', lagMs, heapShare: used / limit });
  }

  async #leave(): Promise<void> {
    const { clock, exit } = this.parts;
    if (this.#loaded) await flushTraces(this.#loaded.graphs, clock);
    exit(0);
  }
}

function reasonOf(message: Extract<ToHost, { kind: 'stop' }>): StopReason {
  switch (message.reason) {
    case 'cancelled':
      return { kind: 'cancelled', action: message.action, why: message.why };
    case 'timed-out':
      return { kind: 'timed-out', limitMs: message.limitMs };
    case 'lost':
      return { kind: 'lost', error: new Error('the server stopped the run') };
    case 'handed-back':
      return { kind: 'handed-back' };
    default:
      return message satisfies never;
  }
}

function repeat(clock: Clock, ms: number, action: () => void): () => void {
  let cancel: () => void;
  const next = (): void => {
    cancel = clock.after(ms, () => {
      action();
      next();
    });
  };
  next();
  return () => cancel();
}
