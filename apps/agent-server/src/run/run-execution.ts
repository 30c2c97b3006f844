import type { GraphRegistry } from '../graph/graph-registry.js';
import type { RunnableGraph } from '../graph/runnable-graph.js';
import { AttemptSaver } from '../store/attempt-saver.js';
import type { Assistants } from '../store/assistants.js';
import type { RunEnd } from '../store/run-ends.js';
import { FencedError, type CancelAction, type ClaimedRun } from '../store/run-row.js';
import { TransientSaver } from '../store/transient-saver.js';
import { buildGraphCall, checkpointMetadata, CHECKPOINTER_KEY, type GraphCall } from './graph-call.js';
import type { RunEvent } from './run-feed.js';
import { StreamOutput } from './stream-output.js';
import { errorOnWire, toWire, wireJson, type WireError } from './wire-value.js';
import type { Pool } from 'pg';

/** Why a run at work was stopped from outside. */
export type StopReason =
  | { readonly kind: 'cancelled'; readonly action: CancelAction }
  | { readonly kind: 'handed-back' } // the server stops; another goes on
  | { readonly kind: 'lost'; readonly error: unknown }; // its lease or its database is gone

/** What became of a run on this server. */
export type Outcome =
  | { readonly kind: 'ended'; readonly end: RunEnd; readonly body: string }
  | Exclude<StopReason, { kind: 'cancelled' }>;

/** What an execution needs of the server. */
export interface ExecutionParts {
  readonly pool: Pool;
  readonly graphs: GraphRegistry;
  readonly assistants: Assistants;
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

const CANCELLED: WireError = { error: 'UserInterrupt', message: 'The run was cancelled' };

/** The rows of interrupts as a thread shows them: by the task that waits. */
async function interruptsByTask(
  graph: RunnableGraph,
  call: GraphCall,
  run: ClaimedRun,
): Promise<Record<string, unknown>> {
  const state = await graph.getState({
    configurable: {
      thread_id: run.threadId,
      [CHECKPOINTER_KEY]: call.options.configurable?.[CHECKPOINTER_KEY],
    },
  });
  const waiting = state.tasks.filter((task) => (task.interrupts?.length ?? 0) > 0);
  return Object.fromEntries(waiting.map((task) => [task.id, toWire(task.interrupts)]));
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
    );
    try {
      if (this.#stopReason) return this.#stopped(output, this.#stopReason);
      const [assistant, saver] = [await this.parts.assistants.get(run.assistantId), this.#saver()];
      const agentFile = this.parts.graphs.fileOf(run.graphId) ?? '';
      const call = await buildGraphCall({ run, assistant, saver, signal: this.#abort.signal, agentFile });
      const graph = await this.parts.graphs.get(run.graphId, call.options);
      await this.#stream(graph, call, output);
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
      (error) => this.stop({ kind: 'lost', error }),
      checkpointMetadata(run),
    );
  }

  async #stream(graph: RunnableGraph, call: GraphCall, output: StreamOutput): Promise<void> {
    if (!this.run.kwargs.stream_mode.includes('events')) {
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
    const interrupts = run.isTemporary ? {} : await interruptsByTask(graph, call, run);
    const body = wireJson({ ...(output.lastValues as object | undefined), __interrupt__: output.interrupts });
    return {
      kind: 'ended',
      body,
      end: { status: 'success', threadStatus: 'interrupted', interrupts, ...keep(values) },
    };
  }

  #stopped(output: StreamOutput, reason: StopReason): Outcome {
    if (reason.kind !== 'cancelled') return reason;
    const outcome = this.#failed(output, CANCELLED, 'interrupted');
    if (outcome.kind !== 'ended' || reason.action !== 'rollback') return outcome;
    return { ...outcome, end: { status: 'interrupted', threadStatus: 'idle', isRollback: true } };
  }

  #failed(output: StreamOutput, error: WireError, status: 'error' | 'interrupted'): Outcome {
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

function keep(values: string | undefined): { values?: string } {
  return values === undefined ? {} : { values };
}
