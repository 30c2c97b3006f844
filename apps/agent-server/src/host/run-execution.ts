import type { BaseCheckpointSaver, BaseStore } from '@langchain/langgraph-checkpoint';
import { errorText } from '#lib/errors';
import { isJsonObject, type JsonObject } from '#lib/json';
import { mayPass } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { GraphRegistry } from '../graph/graph-registry.js';
import {
  type GraphOptions,
  type RunnableGraph,
  type StateSnapshot,
  withSaver,
} from '../graph/runnable-graph.js';
import {
  type AttemptedRun,
  CANCELLED,
  type Outcome,
  type OutputSink,
  type StopReason,
  textTrouble,
  timedOut,
} from '../protocol/execution.js';
import { shortMessage } from '../protocol/wire-outcome.js';
import { AttemptSaver } from '../store/checkpoint/attempt-saver.js';
import type { StateWriter } from '../store/checkpoint/put-states.js';
import { TransientSaver } from '../store/checkpoint/thread-saver.js';
import { FencedError } from '../store/row/claimed-run.js';
import { ProtocolOutput } from '../stream/protocol-output.js';
import type { RunEvent, RunOutput } from '../stream/run-event.js';
import { usesLibraryEvents } from '../stream/stream-modes.js';
import { StreamOutput } from '../stream/stream-output.js';
import type { SecretWords } from '../wire/secret-words.js';
import { errorOnWire, type WireError, wireJson } from '../wire/wire-value.js';
import {
  checkpointMetadata,
  graphInput,
  graphOptions,
  hasProgress,
  placeOfBranch,
  requireCheckpoint,
  interruptsByTask,
  interruptsOf,
  isAtBreakpoint,
  settleRefusedWrites,
} from './graph-options.js';

/** An agent may throw anything, of any size. */
const MAX_TEXT = 8_192;

/** Error that an agent threw, for a log line: with its stack, without the server's secrets. */
function errorForLog(error: unknown, secrets: SecretWords): Readonly<Record<string, string>> {
  const shown = (text: string): string => secrets.hide(text.slice(0, MAX_TEXT));
  const { error: type, message } = errorOnWire(error);
  const stack = stackOf(error);
  return { type, message: shown(message), ...(stack === undefined ? {} : { stack: shown(stack) }) };
}

/** Reads the stack; members of a thrown value may throw themselves. */
function stackOf(error: unknown): string | undefined {
  try {
    const stack: unknown = error instanceof Error ? error.stack : undefined;
    return typeof stack === 'string' ? stack : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Cause for which a run stops here: it was asked to, the database refuses its state, or an event is too large
 * to be sent.
 */
type StopCause =
  | StopReason
  | { readonly kind: 'unstorable'; readonly error: unknown }
  | { readonly kind: 'too-large'; readonly message: string };

/** Outcome of an attempt whose host lives. */
type HostOutcome = Exclude<Outcome, { kind: 'crashed' }>;

/** Parts of the host that an execution uses. */
export interface ExecutionParts {
  /** Keeps the state of all runs here. */
  readonly writer: StateWriter;
  readonly graphs: GraphRegistry;
  /** Store that graphs find as `config.store`. */
  readonly store: BaseStore;
  readonly secrets: SecretWords;
  /** Limit per event or result. */
  readonly maxTextBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Receiver of the output. */
export interface HostSink extends Omit<OutputSink, 'emit'> {
  emit(event: RunEvent): void;
  /** Resolves when the channel accepts more; undefined while it does. */
  room(): Promise<void> | undefined;
}

interface RootChunk {
  readonly data: JsonObject;
}

/** An event of `streamEvents` that carries a chunk of the outermost graph. */
function isRootChunk(event: unknown, runId: string): event is RootChunk {
  return (
    isJsonObject(event) &&
    event['event'] === 'on_chain_stream' &&
    event['run_id'] === runId &&
    isJsonObject(event['data'])
  );
}

/** Releases of LangGraph since which a graph takes the checkpointer and the store of a call. */
const TAKES_OPTIONS = '0.2.20';
/** Releases since which values always name what a graph stopped for. */
const SHOWS_INTERRUPTS = '0.4.0';

/** Time for a stopped graph to end; then the run ends without it, and its later writes are rejected. */
const STOP_GRACE_MS = 5_000;

/** One attempt of a run in this process. */
export class RunExecution {
  readonly #abort = new AbortController();
  #stopReason: StopCause | undefined;

  constructor(
    readonly run: AttemptedRun,
    private readonly parts: ExecutionParts,
    private readonly sink: HostSink,
  ) {
    if (run.cancel) this.stop({ kind: 'cancelled', action: run.cancel });
  }

  /** Stops the graph; the first reason counts. */
  stop(reason: StopCause): void {
    if (this.#stopReason) return;
    this.#stopReason = reason;
    const why = reason.kind === 'cancelled' ? reason.why : undefined;
    this.#abort.abort(new Error(why ?? `the run was stopped: ${reason.kind}`));
  }

  /** Runs the graph to its end, to a stop, or to the end of the patience with a graph that does not stop. Never rejects. */
  async perform(): Promise<HostOutcome> {
    const { clock } = this.parts;
    const output = this.#output();
    const { promise: abandoned, resolve } = Promise.withResolvers<HostOutcome>();
    let endGrace: (() => void) | undefined;
    const onStop = (): void => {
      endGrace = clock.after(STOP_GRACE_MS, () => {
        if (this.#stopReason) resolve(this.#stopped(output, this.#stopReason));
      });
    };
    this.#abort.signal.addEventListener('abort', onStop, { once: true });
    try {
      return await Promise.race([this.#perform(output), abandoned]);
    } finally {
      this.#abort.signal.removeEventListener('abort', onStop);
      endGrace?.();
    }
  }

  #output(): StreamOutput | ProtocolOutput {
    const { graphId, kwargs } = this.run;
    const emit = (event: RunEvent): void => {
      const message = this.#tooLarge(`event "${event.event}"`, event.data);
      if (message === undefined) this.sink.emit(event);
      else this.stop({ kind: 'too-large', message });
    };
    if (kwargs.protocol) return new ProtocolOutput(graphId, emit, this.parts.secrets, this.parts.clock);
    return new StreamOutput(kwargs.stream_mode, emit, () => this.sink.isWanted(), this.parts.secrets);
  }

  async #perform(output: StreamOutput | ProtocolOutput): Promise<HostOutcome> {
    const { run } = this;
    try {
      if (this.#stopReason) return this.#stopped(output, this.#stopReason);
      const saver = this.#saver();
      const continues = await hasProgress(run, saver);
      if (!continues) await requireCheckpoint(run, saver);
      const options = graphOptions({
        run,
        saver,
        continues,
        store: this.parts.store,
        signal: this.#abort.signal,
      });
      const graph = await this.#graph(options, saver);
      const breakpoint = continues ? await this.#breakpoint(graph, saver) : undefined;
      if (breakpoint) output.stopped(breakpoint.values);
      else {
        const input = continues ? null : await this.#input();
        const place = continues ? {} : await placeOfBranch(run, graph, saver);
        const started = { ...options, configurable: { ...options.configurable, ...place } };
        await this.#stream(graph, started, input, output).catch((error: unknown) =>
          this.#settle(graph, saver, error),
        );
      }
      if (this.#stopReason) return this.#stopped(output, this.#stopReason);
      if (!output.interrupts && this.parts.graphs.isOlder(run.graphId, SHOWS_INTERRUPTS))
        output.interrupted(interruptsOf(await this.#state(graph, saver)));
      return await this.#finished(graph, saver, output);
    } catch (error) {
      if (this.#stopReason) return this.#stopped(output, this.#stopReason);
      // a database that failed for the graph may work for its next attempt
      if (isPassing(error)) return { kind: 'lost', error };
      this.parts.log.warn({ err: errorForLog(error, this.parts.secrets) }, 'run failed');
      return this.#failed(output, errorOnWire(error), 'error');
    }
  }

  async #graph(options: GraphOptions, saver: BaseCheckpointSaver): Promise<RunnableGraph> {
    const { graphs, store } = this.parts;
    const graph = await graphs.get(this.run.graphId, options);
    return graphs.isOlder(this.run.graphId, TAKES_OPTIONS)
      ? Object.assign(withSaver(graph, saver), { store })
      : graph;
  }

  /** Leaves a thread whose state can be read. */
  async #settle(graph: RunnableGraph, saver: AttemptSaver | TransientSaver, error: unknown): Promise<never> {
    if (!this.#stopReason && !isPassing(error) && saver instanceof AttemptSaver)
      await settleRefusedWrites(graph, saver, this.run.threadId, errorOnWire(error)).catch(
        (failure: unknown) =>
          this.parts.log.warn(
            { err: errorForLog(failure, this.parts.secrets) },
            'state of a failed run unreadable',
          ),
      );
    throw error;
  }

  #saver(): AttemptSaver | TransientSaver {
    const { run } = this;
    if (run.isTemporary) return new TransientSaver();
    return new AttemptSaver(
      this.parts.writer,
      run,
      (error) => this.stop({ kind: isPassing(error) ? 'lost' : 'unstorable', error }),
      checkpointMetadata(run),
      this.parts.clock,
      run.isThreadEmpty ? run.threadId : undefined,
    );
  }

  #input(): Promise<unknown> {
    const { run } = this;
    return graphInput(run.kwargs, this.parts.graphs.fileOf(run.graphId) ?? '');
  }

  /** The newest state of the run's thread. */
  #state(graph: RunnableGraph, saver: BaseCheckpointSaver): Promise<StateSnapshot> {
    return withSaver(graph, saver).getState({ configurable: { thread_id: this.run.threadId } });
  }

  /** The state in which an earlier attempt has already stopped as it was to. */
  async #breakpoint(graph: RunnableGraph, saver: BaseCheckpointSaver): Promise<StateSnapshot | undefined> {
    const state = await this.#state(graph, saver);
    return (await isAtBreakpoint(saver, state, this.run.kwargs)) ? state : undefined;
  }

  async #stream(
    graph: RunnableGraph,
    options: GraphOptions,
    input: unknown,
    output: StreamOutput | ProtocolOutput,
  ): Promise<void> {
    if (output instanceof ProtocolOutput) {
      for await (const event of await protocolEvents(graph, input, options)) {
        output.event(event);
        const room = this.sink.room();
        if (room) await room;
      }
      return;
    }
    if (!usesLibraryEvents(this.run.kwargs.stream_mode)) {
      for await (const chunk of await graph.stream(input, options)) {
        output.chunk(chunk);
        const room = this.sink.room();
        if (room) await room;
      }
      return;
    }
    for await (const event of await graph.streamEvents(input, { ...options, version: 'v2' })) {
      if (isRootChunk(event, this.run.runId)) output.chunk(event.data['chunk']);
      else output.libraryEvent(event);
      const room = this.sink.room();
      if (room) await room;
    }
  }

  async #finished(graph: RunnableGraph, saver: BaseCheckpointSaver, output: RunOutput): Promise<HostOutcome> {
    const { run } = this;
    output.finished();
    const values = this.#valuesText(output);
    const message = values && this.#tooLarge('the result', values);
    if (message) return this.#stopped(output, { kind: 'too-large', message });
    if (!output.interrupts)
      return {
        kind: 'ended',
        body: values ?? '{}',
        end: { status: 'success', threadStatus: 'idle', ...keep(values) },
      };
    const interrupts = run.isTemporary
      ? '{}'
      : JSON.stringify(interruptsByTask(await this.#state(graph, saver)));
    const last = isJsonObject(output.lastValues) ? output.lastValues : {};
    const body = wireJson({ ...last, __interrupt__: output.interrupts });
    const tooLarge = this.#tooLarge('the result', body);
    if (tooLarge) return this.#stopped(output, { kind: 'too-large', message: tooLarge });
    return {
      kind: 'ended',
      body,
      end: { status: 'success', threadStatus: 'interrupted', interrupts, ...keep(values) },
    };
  }

  #stopped(output: RunOutput, reason: StopCause): HostOutcome {
    if (reason.kind === 'unstorable')
      return this.#failed(output, { error: 'StateNotStored', message: errorText(reason.error) }, 'error');
    if (reason.kind === 'too-large')
      return this.#failed(output, { error: 'OutputTooLarge', message: reason.message }, 'error');
    if (reason.kind === 'timed-out') return this.#failed(output, timedOut(reason.limitMs), 'timeout');
    if (reason.kind !== 'cancelled') return reason;
    const outcome = this.#failed(output, CANCELLED, 'interrupted');
    if (outcome.kind !== 'ended' || reason.action !== 'rollback') return outcome;
    return { ...outcome, end: { status: 'interrupted', threadStatus: 'idle', isRollback: true } };
  }

  #failed(output: RunOutput, thrown: WireError, status: 'error' | 'interrupted' | 'timeout'): HostOutcome {
    const message = shortMessage(this.parts.secrets.hide(thrown.message));
    const error = { error: shortMessage(thrown.error), message };
    const values = this.#valuesText(output);
    const isTooLarge = values !== undefined && this.#tooLarge('the result', values) !== undefined;
    if (this.sink.isWanted()) this.sink.emit({ event: 'error', data: JSON.stringify(error) });
    return {
      kind: 'ended',
      body: JSON.stringify({ __error__: error }),
      end: {
        status,
        threadStatus: status === 'timeout' ? 'error' : status,
        error,
        ...keep(isTooLarge ? undefined : values),
      },
    };
  }

  #tooLarge(what: string, text: string): string | undefined {
    return textTrouble(what, text, this.parts.maxTextBytes);
  }

  /** Only a thread keeps values, and only a reader or a webhook wants them. */
  #valuesText(output: RunOutput): string | undefined {
    if (output.lastValues === undefined) return undefined;
    const { isTemporary, kwargs } = this.run;
    const isRead = this.sink.isWanted() || this.sink.isAwaited();
    return isTemporary && !isRead && !kwargs.webhook ? undefined : wireJson(output.lastValues);
  }
}

/** Copies of the library before 1.3 know versions 1 and 2. */
const NO_PROTOCOL = /Only versions "v1" and "v2"/;

/** @throws Error with a remedy when the agent's copy of the library does not know the protocol */
async function protocolEvents(
  graph: RunnableGraph,
  input: unknown,
  options: GraphOptions,
): Promise<AsyncIterable<unknown>> {
  try {
    return await graph.streamEvents(input, { ...options, version: 'v3' });
  } catch (error) {
    if (!NO_PROTOCOL.test(errorText(error))) throw error;
    throw new Error(
      'the thread stream protocol needs @langchain/langgraph 1.3 or later in the agent; update it, or stream the run by /runs/stream',
      { cause: error },
    );
  }
}

/** A statement that another try may still perform, or that belongs to another attempt by now. */
function isPassing(error: unknown): boolean {
  return error instanceof FencedError || mayPass(error);
}

function keep(values: string | undefined): { values?: string } {
  return values === undefined ? {} : { values };
}
