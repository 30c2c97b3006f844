import type { BaseStore } from '@langchain/langgraph-checkpoint';
import { errorText, PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { postgresTrouble, sqlState } from '#lib/postgres';
import type { AssignPriority } from '../graph/agent-functions.js';
import type { GraphRegistry } from '../graph/graph-registry.js';
import { readGraphSchemas, readSubgraphSchemas } from '../graph/graph-schemas.js';
import {
  drawingOf,
  type GraphConfig,
  type HistoryOptions,
  type RunnableGraph,
  type StateSnapshot,
  type TaskSnapshot,
  withSaver,
} from '../graph/runnable-graph.js';
import type { Embedder } from '../memory/item-index.js';
import {
  type DrawingQuestion,
  type EmbedQuestion,
  type HistoryQuestion,
  type PriorityQuestion,
  type Questions,
  renderUpdated,
  type SchemasQuestion,
  selectedState,
  type StatePlace,
  type StateQuestion,
  type StateSelection,
  type StateWrite,
  type SubgraphsQuestion,
  type UpdateQuestion,
  type ValuesQuestion,
} from '../protocol/questions.js';
import { ThreadSaver } from '../store/checkpoint/thread-saver.js';
import { jsonbText } from '../store/json-text.js';
import type { Sql } from '../store/sql.js';
import { checkpointOf, errorOnWire, toWire, wireJson } from '../wire/wire-value.js';
import type { SecretWords } from '../wire/secret-words.js';
import { commandOf, interruptsByTask, interruptsOf } from './graph-options.js';

function isSnapshot(state: TaskSnapshot['state']): state is StateSnapshot {
  return typeof state === 'object' && state !== null && 'tasks' in state;
}

/** Address of a subgraph's state that was not read: no more than the library's names for it. */
function namedPlace(config: unknown): JsonObject | null {
  const place = checkpointOf(config);
  return place && Object.fromEntries(Object.entries(place).filter(([, value]) => value !== null));
}

/** `null` for a missing value, as the clients' types have it; an error is a text. */
function taskOnWire({ state, error = null, result = null, ...task }: TaskSnapshot): JsonObject {
  const shown = toWire(task);
  return {
    ...(isJsonObject(shown) ? shown : {}),
    error: error === null ? null : errorOnWire(error).message,
    checkpoint: isSnapshot(state) ? checkpointOf(state.config) : namedPlace(state),
    state: isSnapshot(state) ? stateOnWire(state) : null,
    result: toWire(result),
  };
}

/** A state as the wire shows it. */
export function stateOnWire(state: StateSnapshot): JsonObject {
  return {
    values: toWire(state.values),
    next: state.next,
    tasks: state.tasks.map(taskOnWire),
    metadata: toWire(state.metadata ?? {}),
    created_at: state.createdAt ?? null,
    checkpoint: checkpointOf(state.config),
    parent_checkpoint: checkpointOf(state.parentConfig),
    interrupts: interruptsOf(state).map(toWire),
  };
}

/** Limit per answer with more than one state: each has all the values of its thread. */
const MAX_HISTORY_CHARS = 32 * 1024 * 1024;

type Answers = { readonly [K in keyof Questions]: (question: Questions[K]) => Promise<string> };

export interface GraphQuestionParts {
  readonly sql: Sql;
  readonly graphs: GraphRegistry;
  /** Store that graphs find as `config.store`. */
  readonly store: BaseStore;
  readonly secrets: SecretWords;
  /** Undefined: the agent's store has no search by meaning. */
  readonly embedder: Embedder | undefined;
  /** Undefined: the agent ranks no runs. */
  readonly assign: AssignPriority | undefined;
}

/** Answers about graphs, and about states through the graphs that made them. */
export class GraphQuestions implements Answers {
  constructor(private readonly parts: GraphQuestionParts) {}

  /** @throws PublicError `not_found` when the thread has no such checkpoint */
  async state(question: StateQuestion): Promise<string> {
    const { graph, config } = await this.#open(question);
    const state = await graph.getState(config, { subgraphs: question.subgraphs });
    const { checkpoint_id: id } = question.checkpoint ?? {};
    if (id && state.createdAt === undefined)
      throw new PublicError('not_found', `Thread ${question.threadId} has no checkpoint ${String(id)}`);
    return this.#shown(state, question.select);
  }

  /** The result of `state.get` of the thread stream protocol. */
  async values({ keys, ...place }: ValuesQuestion): Promise<string> {
    const { graph, config } = await this.#open(place);
    const state = await graph.getState(config, { subgraphs: false });
    const values = toWire(state.values);
    const { checkpoint_id: id, checkpoint_ns: ns } = checkpointOf(state.config) ?? {};
    const chosen = keys && isJsonObject(values) ? picked(values, keys) : values;
    return JSON.stringify({
      values: chosen,
      ...(id === undefined ? {} : { checkpoint: { id, ...(typeof ns === 'string' ? { ns } : {}) } }),
    });
  }

  /** History, newest first. It ends early when it would become too long; the rest is `before` the last. */
  async history(question: HistoryQuestion): Promise<string> {
    const { graph, config } = await this.#open(question);
    const states: string[] = [];
    let length = 0;
    for await (const state of graph.getStateHistory(config, historyOptions(question))) {
      const text = this.#shown(state, question.select);
      length += text.length;
      if (length > MAX_HISTORY_CHARS && states.length > 0) break;
      states.push(text);
    }
    return `[${states.join(',')}]`;
  }

  /** @throws PublicError `bad_request` for an update that the graph rejects */
  async update(question: UpdateQuestion): Promise<string> {
    const { graph, config } = await this.#open(question);
    const { threadId } = question;
    const made = await this.#write(graph, config, question).catch((error: unknown) => {
      throw this.#refused(question.threadId, error);
    });
    const newest = { ...configOf({ ...question, checkpoint: undefined }), store: this.parts.store };
    const state = await graph.getState(newest);
    return renderUpdated({
      checkpoint: checkpointOf({ configurable: { thread_id: threadId, ...made.configurable } }),
      hasNext: state.next.length > 0,
      values: wireJson(state.values),
      interrupts: JSON.stringify(interruptsByTask(state)),
    });
  }

  async #write(
    graph: RunnableGraph,
    config: GraphConfig,
    { graphId, steps }: UpdateQuestion,
  ): Promise<GraphConfig> {
    const file = this.parts.graphs.fileOf(graphId) ?? '';
    const valuesOf = ({ values, command }: StateWrite): Promise<unknown> =>
      command ? commandOf(command, file) : Promise.resolve(values);
    const [[only] = []] = steps;
    if (only && steps.flat().length === 1)
      return graph.updateState(config, await valuesOf(only), only.asNode);
    if (!graph.bulkUpdateState)
      throw new Error('its LangGraph has no bulkUpdateState; use @langchain/langgraph 0.2.67 or newer');
    const supersteps = await Promise.all(
      steps.map(async (writes) => ({
        updates: await Promise.all(
          writes.map(async (write) => ({
            values: await valuesOf(write),
            ...(write.asNode === undefined ? {} : { asNode: write.asNode }),
          })),
        ),
      })),
    );
    return graph.bulkUpdateState(config, supersteps);
  }

  async drawing({ graphId, xray }: DrawingQuestion): Promise<string> {
    return JSON.stringify(await drawingOf(await this.parts.graphs.get(graphId), xray));
  }

  async schemas({ graphId }: SchemasQuestion): Promise<string> {
    const { graphs } = this.parts;
    const agent = { folder: graphs.folder, file: graphs.fileOf(graphId) };
    return JSON.stringify(await readGraphSchemas(await graphs.get(graphId), graphId, agent));
  }

  async subgraphs({ graphId, namespace, recurse }: SubgraphsQuestion): Promise<string> {
    const { graphs } = this.parts;
    const agent = { folder: graphs.folder, file: graphs.fileOf(graphId) };
    return JSON.stringify(
      await readSubgraphSchemas(await graphs.get(graphId), { namespace, recurse }, agent),
    );
  }

  async embed({ texts, isQuery }: EmbedQuestion): Promise<string> {
    const { embedder } = this.parts;
    if (!embedder) throw new Error('embedding texts: the agent has no "store.index"');
    const [text = ''] = texts;
    return JSON.stringify(
      (await (isQuery ? embedder.embedQuery(text) : embedder.embedDocuments(texts))) ?? null,
    );
  }

  async priority(question: PriorityQuestion): Promise<string> {
    const { assign } = this.parts;
    if (!assign) throw new Error('assigning a priority: the agent has no "priority"');
    return JSON.stringify((await assign({ ...question })) ?? null);
  }

  async #open(place: StatePlace): Promise<{
    readonly graph: RunnableGraph;
    readonly config: GraphConfig;
  }> {
    // the server that asks has checked the owner of the thread
    const saver = new ThreadSaver(this.parts.sql, place.threadId);
    const config = { ...configOf(place), store: this.parts.store };
    const graph = withSaver(await this.parts.graphs.get(place.graphId, config), saver);
    return { graph, config };
  }

  /** Errors of tasks may quote secrets of the server. */
  #shown(state: StateSnapshot, select: StateSelection | undefined): string {
    const text = JSON.stringify(selectedState(stateOnWire(state), select));
    return state.tasks.some((task) => task.error !== undefined) ? this.parts.secrets.hide(text) : text;
  }

  /**
   * Error for a caller: a value that a graph's reducers reject is a mistake of the caller; a database that
   * fails is not.
   */
  #refused(threadId: string, error: unknown): unknown {
    if (error instanceof PublicError || sqlState(error) !== undefined || postgresTrouble(error)) return error;
    const found = this.parts.secrets.hide(errorText(error));
    return new PublicError('bad_request', `Updating the state of thread ${threadId} failed: ${found}`, [], {
      cause: error,
    });
  }
}

/** Configuration of a question about a thread's state. */
function configOf({ threadId, configurable, checkpoint }: StatePlace): GraphConfig {
  const given = Object.entries(checkpoint ?? {}).filter(([, value]) => value !== null);
  return {
    configurable: {
      ...configurable,
      checkpoint_ns: '',
      ...Object.fromEntries(given),
      thread_id: threadId,
    },
  };
}

function picked(values: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));
}

function historyOptions({ limit, before, metadata }: HistoryQuestion): HistoryOptions {
  return {
    limit,
    ...(before ? { before: { configurable: before } } : {}),
    ...(metadata ? { filter: storedJson(metadata) } : {}),
  };
}

/** Metadata in the form in which it was stored. */
function storedJson(metadata: JsonObject): JsonObject {
  const stored: unknown = parseJson(jsonbText(metadata));
  return isJsonObject(stored) ? stored : {};
}
