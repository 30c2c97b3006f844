import type { BaseCheckpointSaver, BaseStore } from '@langchain/langgraph-checkpoint';
import { errorText, PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject } from '#lib/json';
import { postgresTrouble, sqlState } from '#lib/postgres';
import type { Assistants } from '../assistant/assistants.js';
import { CHECKPOINTER_KEY, configurableOf } from '../graph/configurable-of.js';
import type { GraphRegistry } from '../graph/graph-registry.js';
import type {
  GraphConfig,
  HistoryOptions,
  RunnableGraph,
  StateSnapshot,
  TaskSnapshot,
} from '../graph/runnable-graph.js';
import { interruptsByTask } from '../run/interrupts.js';
import type { SecretWords } from '../wire/secret-words.js';
import { checkpointOf } from '../wire/checkpoint-on-wire.js';
import { toWire, wireJson } from '../wire/wire-value.js';
import { openThreadState, type OpenThread } from '../store/checkpoint/open-thread-state.js';
import { jsonbText } from '../store/json-text.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import { hasActiveRun } from '../store/run/has-active-run.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { lockThread } from '../store/thread/lock-thread.js';
import { setThreadState } from '../store/thread/set-thread-state.js';

/** A thread that a caller asks for. */
export interface AskedThread {
  readonly scope: Scope;
  readonly threadId: string;
}

export interface HistoryQuery {
  readonly limit: number;
  readonly before: JsonObject | undefined;
  readonly metadata: JsonObject | undefined;
  readonly checkpoint: JsonObject | undefined;
}

export interface StateUpdate {
  readonly values: unknown;
  readonly asNode: string | undefined;
  readonly checkpoint: JsonObject | undefined;
}

/** Of an answer with more than one state: each has all the values of its thread. */
const MAX_HISTORY_CHARS = 32 * 1024 * 1024;

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

function taskOnWire({ state, ...task }: TaskSnapshot): JsonObject {
  const shown = toWire(task);
  return {
    ...(isJsonObject(shown) ? shown : {}),
    error: task.error === undefined ? null : toWire(task.error),
    checkpoint: isSnapshot(state) ? checkpointOf(state.config) : checkpointOf(state),
    state: isSnapshot(state) ? snapshotOnWire(state) : null,
  };
}

/** A state as the wire shows it. */
function snapshotOnWire(state: StateSnapshot): JsonObject {
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

/** Configuration of a look at a thread's state. */
function configOf(
  saver: BaseCheckpointSaver,
  threadId: string,
  configurable: JsonObject,
  checkpoint: JsonObject | undefined,
): GraphConfig {
  const given = Object.entries(checkpoint ?? {}).filter(([, value]) => value !== null);
  return {
    configurable: {
      ...configurable,
      checkpoint_ns: '',
      ...Object.fromEntries(given),
      thread_id: threadId,
      [CHECKPOINTER_KEY]: saver,
    },
  };
}

interface OpenGraph {
  readonly graph: RunnableGraph;
  readonly config: GraphConfig;
  readonly configurable: JsonObject;
}

export interface ThreadStateParts {
  readonly sql: Sql;
  readonly assistants: Assistants;
  readonly graphs: GraphRegistry;
  /** What graphs find as `config.store`. */
  readonly store: BaseStore;
  readonly secrets: SecretWords;
}

/** States of threads: read and changed through the graph that made them. */
export class ThreadState {
  constructor(private readonly parts: ThreadStateParts) {}

  /** @throws PublicError `not_found` */
  async get(
    asked: AskedThread,
    checkpoint: JsonObject | undefined,
    withSubgraphs: boolean,
  ): Promise<unknown> {
    const open = await openThreadState(asked.scope, this.parts.sql, asked.threadId);
    const found = await this.#graphOf(asked.scope, open, checkpoint);
    // the values of a graph that this revision has no more
    if (!found) return { ...EMPTY_STATE, values: open.thread.values ?? {} };
    const state = await found.graph.getState(found.config, { subgraphs: withSubgraphs });
    const { checkpoint_id: id } = checkpoint ?? {};
    if (id && state.createdAt === undefined)
      throw new PublicError('not_found', `Thread ${asked.threadId} has no checkpoint ${String(id)}`);
    return this.#shown(state);
  }

  /** Errors of tasks may quote secrets of the server. */
  #shown(state: StateSnapshot): unknown {
    const hasErrors = state.tasks.some((task) => task.error !== undefined);
    const shown = snapshotOnWire(state);
    return hasErrors ? JSON.parse(this.parts.secrets.hide(JSON.stringify(shown))) : shown;
  }

  /**
   * Newest first, as JSON text. It ends early where it would become too long; the rest is `before` the last.
   * @throws PublicError `not_found`
   */
  async history(asked: AskedThread, query: HistoryQuery): Promise<string> {
    const open = await openThreadState(asked.scope, this.parts.sql, asked.threadId);
    const found = await this.#graphOf(asked.scope, open, query.checkpoint);
    if (!found) return '[]';
    const states: string[] = [];
    let length = 0;
    for await (const state of found.graph.getStateHistory(found.config, historyOptions(query))) {
      const text = JSON.stringify(this.#shown(state));
      length += text.length;
      if (length > MAX_HISTORY_CHARS && states.length > 0) break;
      states.push(text);
    }
    return `[${states.join(',')}]`;
  }

  /**
   * Changes a state from outside, while no run can begin.
   * @throws PublicError `not_found`, `conflict` while a run is active, `bad_request` when no graph has used the thread
   */
  async update({ scope, threadId }: AskedThread, update: StateUpdate): Promise<unknown> {
    const { sql } = this.parts;
    return sql.transaction(async (inside) => {
      await lockThread(scope, inside, threadId);
      if (await hasActiveRun(scope, inside, threadId))
        throw new PublicError('conflict', `Thread ${threadId} has an active run`);
      // The graph reads and writes outside of this transaction
      const open = await openThreadState(scope, sql, threadId);
      const found = await this.#graphOf(scope, open, update.checkpoint);
      if (!found)
        throw new PublicError('bad_request', `Thread ${threadId} belongs to no graph yet; start a run first`);
      const made = await found.graph
        .updateState(found.config, update.values, update.asNode)
        .catch((error: unknown) => {
          throw this.#refused(threadId, error);
        });
      const newest = configOf(open.saver, threadId, found.configurable, undefined);
      const state = await found.graph.getState(newest);
      await setThreadState(scope, inside, threadId, {
        values: wireJson(state.values),
        status: state.next.length > 0 ? 'interrupted' : 'idle',
        interrupts: interruptsByTask(state),
      });
      return { checkpoint: checkpointOf({ configurable: { thread_id: threadId, ...made.configurable } }) };
    });
  }

  /** What a graph's reducers do not take is a mistake of the caller; a database that fails is not. */
  #refused(threadId: string, error: unknown): unknown {
    if (error instanceof PublicError || sqlState(error) !== undefined || postgresTrouble(error)) return error;
    const found = this.parts.secrets.hide(errorText(error));
    return new PublicError('bad_request', `Updating the state of thread ${threadId} failed: ${found}`, [], {
      cause: error,
    });
  }

  /** The one that the thread was last used with; when it was deleted, the graph's own. */
  async #assistantOf(scope: Scope, graphId: string, assistantId: unknown): Promise<WireAssistant> {
    const { assistants } = this.parts;
    const found = typeof assistantId === 'string' ? await assistants.find(scope, assistantId) : undefined;
    return found ?? assistants.get(scope, graphId);
  }

  /** The graph that made the state; undefined when this revision does not have it. */
  async #graphOf(
    scope: Scope,
    { thread, saver }: OpenThread,
    checkpoint: JsonObject | undefined,
  ): Promise<OpenGraph | undefined> {
    const { graph_id: graphId, assistant_id: assistantId } = thread.metadata;
    if (typeof graphId !== 'string' || !this.parts.graphs.has(graphId)) return undefined;
    const assistant = await this.#assistantOf(scope, graphId, assistantId);
    const given = assistant.config['configurable'];
    const configurable = configurableOf(isJsonObject(given) ? given : undefined);
    const { store } = this.parts;
    const config = { ...configOf(saver, thread.thread_id, configurable, checkpoint), store };
    return { graph: await this.parts.graphs.get(graphId, config), config, configurable };
  }
}

function historyOptions({ limit, before, metadata }: HistoryQuery): HistoryOptions {
  return {
    limit,
    ...(before ? { before: { configurable: before } } : {}),
    ...(metadata ? { filter: storedJson(metadata) } : {}),
  };
}

/** Metadata in the form in which it was stored. */
function storedJson(metadata: JsonObject): JsonObject {
  const stored: unknown = JSON.parse(jsonbText(metadata));
  return isJsonObject(stored) ? stored : {};
}
