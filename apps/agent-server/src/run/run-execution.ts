import type { Pool } from 'pg';
import { errorText } from '#lib/errors';
import type { Clock } from '#lib/time';
import type { GraphRegistry } from '../graph/graph-registry.js';
import type { RunnableGraph, StateSnapshot } from '../graph/runnable-graph.js';
import { AttemptSaver } from '../store/attempt-saver.js';
import type { Assistants } from '../store/assistants.js';
import type { RunEnd } from '../store/run-ends.js';
import { isDatabaseAway } from '../store/database-trouble.js';
import { FencedError, type CancelAction, type ClaimedRun } from '../store/run-row.js';
import { TransientSaver } from '../store/transient-saver.js';
import { buildGraphCall, checkpointMetadata, CHECKPOINTER_KEY, type GraphCall } from './graph-call.js';
import { interruptsByTask, isAtBreakpoint } from './interrupts.js';
import type { RunEvent } from '../stream/run-event.js';
import { usesLibraryEvents } from '../stream/stream-modes.js';
import { StreamOutput } from '../stream/stream-output.js';
import type { SecretWords } from '../wire/secret-words.js';
import { errorOnWire, wireJson, type WireError } from '../wire/wire-value.js';

/** Why a run at work was stopped from outside. */
export type StopReason =
  | { readonly kind: 'cancelled'; readonly action: CancelAction }
  | { readonly kind: 'handed-back' } // the server stops; another goes on
  | { readonly kind: 'lost'; readonly error: unknown } // its lease or its database is gone
  | { readonly kind: 'unstorable'; readonly error: unknown }; // the database refuses its state

/** What became of a run on this server. */
export type Outcome =
  | { readonly kind: 'ended'; readonly end: RunEnd; readonly body: string }
  | Exclude<StopReason, { kind: 'cancelled' | 'unstorable' }>;

/** What an execution needs of the server. */
export interface ExecutionParts {
  readonly pool: Pool;
  readonly graphs: GraphRegistry;
  readonly assistants: Assistants;
  readonly secrets: SecretWords;
  readonly clock: Clock;
}

/** Where the output goes. */
export interface OutputSink {
  emit(event: RunEvent): void;
  isWanted(): boolean;
}

interface RootEvent {
  readonly event: string;
  readonly run_id: string;
  readonly data: { readonly chunk?: unknown };
}

/** What readers and waiters hear of a run that somebody cancelled. */
export const CANCELLED: WireError = { error: 'UserInterrupt', message: 'The run was cancelled' };

/** The newest state of the run's thread. */
function stateOf(graph: RunnableGraph, call: GraphCall, run: ClaimedRun): Promise<StateSnapshot> {
  const { [CHECKPOINTER_KEY]: saver } = call.options.configurable ?? {};
  return graph.getState({ configurable: { thread_id: run.threadId, [CHECKPOINTER_KEY]: saver } });
}

/** One attempt of a run at work in this process. */
export class RunExecution {
  readonly #abort = new AbortController();
  #stopReason: StopReason | undefined;

  constructor(
    readonly run: ClaimedRun,
    private readonly parts: ExecutionParts,
    private readonly sink: OutputSink,
  ) {
    if (run.cancel) this.stop({ kind: 'cancelled', action: run.cancel });
  }

  /** Stops the graph; the first reason counts. */
  stop(reason: StopReason): void {
    if (this.#stopReason) return;
    this.#stopReason = reason;
    this.#abort.abort(new Error(`the run was stopped: ${reason.kind}`));
  }

  /** Runs the graph to its end or to a stop. Never rejects. */
  async perform(): Promise<Outcome> {
    const { run } = this;
    const output = new StreamOutput(
      run.kwargs.stream_mode,
      (event) => this.sink.emit(event),
      () => this.sink.isWanted(),
      this.parts.secrets,
    );
    try {
      if (this.#stopReason) return this.#stopped(output, this.#stopReason);
      const [assistant, saver] = [await this.parts.assistants.get(run.assistantId), this.#saver()];
      const agentFile = this.parts.graphs.fileOf(run.graphId) ?? '';
      const call = await buildGraphCall({ run, assistant, saver, signal: this.#abort.signal, agentFile });
      const graph = await this.parts.graphs.get(run.graphId, call.options);
      if (call.resumesItself) {
        const state = await stateOf(graph, call, run);
        if (await isAtBreakpoint(saver, state, run.kwargs)) output.stopped(state.values);
        else await this.#stream(graph, call, output);
      } else await this.#stream(graph, call, output);
      if (this.#stopReason) return this.#stopped(output, this.#stopReason);
      return await this.#finished(graph, call, output);
    } catch (error) {
      if (this.#stopReason) return this.#stopped(output, this.#stopReason);
      if (error instanceof FencedError) return { kind: 'lost', error };
      return this.#failed(output, errorOnWire(error), 'error');
    }
  }

  #saver(): AttemptSaver | TransientSaver {
    const { run } = this;
    if (run.isTemporary) return new TransientSaver();
    return new AttemptSaver(
      this.parts.pool,
      run,
      (error) => this.stop({ kind: isPassing(error) ? 'lost' : 'unstorable', error }),
      checkpointMetadata(run),
      this.parts.clock,
    );
  }

  async #stream(graph: RunnableGraph, call: GraphCall, output: StreamOutput): Promise<void> {
    if (!usesLibraryEvents(this.run.kwargs.stream_mode)) {
      for await (const chunk of await graph.stream(call.input, call.options)) output.chunk(chunk);
      return;
    }
    for await (const raw of graph.streamEvents(call.input, { ...call.options, version: 'v2' })) {
      const event = raw as RootEvent;
      if (event.event === 'on_chain_stream' && event.run_id === this.run.runId)
        output.chunk(event.data.chunk);
      output.libraryEvent(event);
    }
  }

  async #finished(graph: RunnableGraph, call: GraphCall, output: StreamOutput): Promise<Outcome> {
    const { run } = this;
    const values = this.#valuesText(output);
    if (!output.interrupts)
      return {
        kind: 'ended',
        body: values ?? 'null',
        end: { status: 'success', threadStatus: 'idle', ...keep(values) },
      };
    const interrupts = run.isTemporary ? {} : interruptsByTask(await stateOf(graph, call, run));
    const body = wireJson({ ...(output.lastValues as object | undefined), __interrupt__: output.interrupts });
    return {
      kind: 'ended',
      body,
      end: { status: 'success', threadStatus: 'interrupted', interrupts, ...keep(values) },
    };
  }

  #stopped(output: StreamOutput, reason: StopReason): Outcome {
    if (reason.kind === 'unstorable')
      return this.#failed(output, { error: 'StateNotStored', message: errorText(reason.error) }, 'error');
    if (reason.kind !== 'cancelled') return reason;
    const outcome = this.#failed(output, CANCELLED, 'interrupted');
    if (outcome.kind !== 'ended' || reason.action !== 'rollback') return outcome;
    return { ...outcome, end: { status: 'interrupted', threadStatus: 'idle', isRollback: true } };
  }

  #failed(output: StreamOutput, thrown: WireError, status: 'error' | 'interrupted'): Outcome {
    const error = { error: thrown.error, message: this.parts.secrets.hide(thrown.message) };
    if (this.sink.isWanted()) this.sink.emit({ event: 'error', data: JSON.stringify(error) });
    return {
      kind: 'ended',
      body: JSON.stringify({ __error__: error }),
      end: { status, threadStatus: status, error, ...keep(this.#valuesText(output)) },
    };
  }

  /** Only a thread keeps values, and only a reader wants them. */
  #valuesText(output: StreamOutput): string | undefined {
    if (output.lastValues === undefined) return undefined;
    return this.run.isTemporary && !this.sink.isWanted() ? undefined : wireJson(output.lastValues);
  }
}

/** A statement that another try may still perform, or that belongs to another attempt by now. */
function isPassing(error: unknown): boolean {
  return error instanceof FencedError || isDatabaseAway(error);
}

function keep(values: string | undefined): { values?: string } {
  return values === undefined ? {} : { values };
}
