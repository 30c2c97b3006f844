import type { Pool } from 'pg';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { PublicError } from '#lib/errors';
import type { GraphRegistry } from '../graph/graph-registry.js';
import type { GraphConfig, RunnableGraph, StateSnapshot, TaskSnapshot } from '../graph/runnable-graph.js';
import { CHECKPOINTER_KEY, configurableOf } from '../run/graph-call.js';
import { interruptsByTask } from '../run/interrupts.js';
import type { SecretWords } from '../wire/secret-words.js';
import { checkpointOf } from '../wire/checkpoint-on-wire.js';
import { toWire, wireJson } from '../wire/wire-value.js';
import type { Assistants, WireAssistant } from '../store/assistants.js';
import { jsonbText } from '../store/json-text.js';
import { SCHEMA } from '../store/migrations.js';
import type { Threads, WireThread } from '../store/threads.js';

type Json = Readonly<Record<string, unknown>>;

export interface HistoryQuery {
  readonly limit: number;
  readonly before: Json | undefined;
  readonly metadata: Json | undefined;
  readonly checkpoint: Json | undefined;
}

export interface StateUpdate {
  readonly values: unknown;
  readonly asNode: string | undefined;
  readonly checkpoint: Json | undefined;
}

const EMPTY_STATE = {
  values: {},
  next: [],
  tasks: [],
  metadata: {},
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
  interrupts: [],
};

function isSnapshot(state: TaskSnapshot['state']): state is StateSnapshot {
  return typeof state === 'object' && state !== null && 'tasks' in state;
}

function taskOnWire({ state, ...task }: TaskSnapshot): Json {
  return {
    ...(toWire(task) as Json),
    error: task.error === undefined ? null : toWire(task.error),
    checkpoint: isSnapshot(state) ? checkpointOf(state.config) : checkpointOf(state),
    state: isSnapshot(state) ? snapshotOnWire(state) : null,
  };
}

/** A state as the wire shows it. */
export function snapshotOnWire(state: StateSnapshot): Json {
  return {
    values: toWire(state.values),
    next: state.next,
    tasks: state.tasks.map(taskOnWire),
    metadata: toWire(state.metadata ?? {}),
    created_at: state.createdAt ?? null,
    checkpoint: checkpointOf(state.config),
    parent_checkpoint: checkpointOf(state.parentConfig),
    interrupts: state.tasks.flatMap((task) => task.interrupts ?? []).map(toWire),
  };
}

/** States of threads: read and changed through the graph that made them. */
export class ThreadState {
  readonly #saver: PostgresSaver;

  constructor(
    pool: Pool,
    private readonly threads: Threads,
    private readonly assistants: Assistants,
    private readonly graphs: GraphRegistry,
    private readonly secrets: SecretWords,
  ) {
    this.#saver = new PostgresSaver(pool, undefined, { schema: SCHEMA });
  }

  /** @throws PublicError `not_found` */
  async get(threadId: string, checkpoint: Json | undefined, withSubgraphs: boolean): Promise<Json> {
    const thread = await this.threads.get(threadId);
    const found = await this.#open(thread, checkpoint);
    // the values of a graph that this revision has no more
    if (!found) return { ...EMPTY_STATE, values: thread.values ?? {} };
    const state = await found.graph.getState(found.config, { subgraphs: withSubgraphs });
    const { checkpoint_id: id } = checkpoint ?? {};
    if (id && state.createdAt === undefined)
      throw new PublicError('not_found', `Thread ${threadId} has no checkpoint ${String(id)}`);
    return this.#shown(state);
  }

  /** Errors of tasks may quote what the server knows. */
  #shown(state: StateSnapshot): Json {
    const hasErrors = state.tasks.some((task) => task.error !== undefined);
    const shown = snapshotOnWire(state);
    return hasErrors ? (JSON.parse(this.secrets.hide(JSON.stringify(shown))) as Json) : shown;
  }

  /** Newest first. @throws PublicError `not_found` */
  async history(threadId: string, query: HistoryQuery): Promise<Json[]> {
    const found = await this.#open(await this.threads.get(threadId), query.checkpoint);
    if (!found) return [];
    const states: Json[] = [];
    const options = {
      limit: query.limit,
      ...(query.before ? { before: { configurable: query.before } } : {}),
      // as it was stored
      ...(query.metadata ? { filter: JSON.parse(jsonbText(query.metadata)) as Json } : {}),
    };
    for await (const state of found.graph.getStateHistory(found.config, options))
      states.push(this.#shown(state));
    return states;
  }

  /**
   * Changes a state from outside, while no run can begin.
   * @throws PublicError `not_found`, `conflict` while a run is active, `bad_request` when no graph has used the thread
   */
  async update(threadId: string, update: StateUpdate): Promise<Json> {
    return this.threads.exclusively(threadId, async (client) => {
      const { rows } = await client.query(
        `SELECT 1 FROM agentplane.runs WHERE thread_id = $1 AND status IN ('pending', 'running') LIMIT 1`,
        [threadId],
      );
      if (rows.length > 0) throw new PublicError('conflict', `Thread ${threadId} has an active run`);
      const found = await this.#open(await this.threads.get(threadId), update.checkpoint);
      if (!found)
        throw new PublicError('bad_request', `Thread ${threadId} belongs to no graph yet: start a run first`);
      const made = await found.graph.updateState(found.config, update.values, update.asNode);
      const state = await found.graph.getState(this.#config(threadId, found.configurable, undefined));
      await this.threads.setState(client, threadId, {
        values: wireJson(state.values),
        status: state.next.length > 0 ? 'interrupted' : 'idle',
        interrupts: interruptsByTask(state),
      });
      return { checkpoint: checkpointOf({ configurable: { thread_id: threadId, ...made.configurable } }) };
    });
  }

  #config(threadId: string, configurable: Json, checkpoint: Json | undefined): GraphConfig {
    return {
      configurable: {
        ...configurable,
        checkpoint_ns: '',
        ...Object.fromEntries(Object.entries(checkpoint ?? {}).filter(([, value]) => value !== null)),
        thread_id: threadId,
        [CHECKPOINTER_KEY]: this.#saver,
      },
    };
  }

  /** The one that the thread was last used with; when it was deleted, the graph's own. */
  async #assistantOf(graphId: string, assistantId: unknown): Promise<WireAssistant> {
    const found = typeof assistantId === 'string' ? await this.assistants.find(assistantId) : undefined;
    return found ?? this.assistants.get(graphId);
  }

  async #open(
    thread: WireThread,
    checkpoint: Json | undefined,
  ): Promise<{ graph: RunnableGraph; config: GraphConfig; configurable: Json } | undefined> {
    const { graph_id: graphId, assistant_id: assistantId } = thread.metadata;
    if (typeof graphId !== 'string' || !this.graphs.has(graphId)) return undefined;
    const assistant = await this.#assistantOf(graphId, assistantId);
    const configurable = configurableOf(assistant, {});
    const config = this.#config(thread.thread_id, configurable, checkpoint);
    return { graph: await this.graphs.get(graphId, config), config, configurable };
  }
}
