import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { JsonObject } from '#lib/json';

/**
 * Methods of a compiled graph that the server uses. The agent's folder brings its own copy of LangGraph, so a
 * graph is known by its shape, never by `instanceof`.
 */
export interface RunnableGraph {
  /** Store of the graph itself, from when it was compiled. */
  readonly store?: unknown;
  /** Channels by name. */
  readonly channels?: Readonly<Record<string, unknown>>;
  /** A copy. */
  withConfig(config: GraphConfig): RunnableGraph;
  stream(input: unknown, options: GraphOptions): Promise<AsyncIterable<unknown>>;
  /** Version 3 answers a promise. */
  streamEvents(
    input: unknown,
    options: GraphOptions,
  ): AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>;
  getState(config: GraphConfig, options?: { subgraphs?: boolean }): Promise<StateSnapshot>;
  getStateHistory(config: GraphConfig, options?: HistoryOptions): AsyncIterable<StateSnapshot>;
  updateState(config: GraphConfig, values: unknown, asNode?: string): Promise<GraphConfig>;
  /** Missing in old versions. */
  bulkUpdateState?(
    config: GraphConfig,
    steps: readonly { readonly updates: readonly { readonly values: unknown; readonly asNode?: string }[] }[],
  ): Promise<GraphConfig>;
  getSubgraphsAsync?(namespace?: string, recurse?: boolean): AsyncIterable<[string, RunnableGraph]>;
  getGraphAsync?(config: { xray?: boolean | number }): Promise<{ toJSON(): unknown }>;
  getGraph?(config: { xray?: boolean | number }): { toJSON(): unknown };
}

export interface GraphConfig {
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

export type GraphOptions = GraphConfig;

export interface HistoryOptions {
  readonly limit?: number;
  readonly before?: GraphConfig;
  readonly filter?: Readonly<Record<string, unknown>>;
}

export interface TaskSnapshot {
  readonly id: string;
  readonly name: string;
  readonly path?: unknown;
  readonly error?: unknown;
  readonly interrupts?: readonly unknown[];
  readonly state?: StateSnapshot | GraphConfig;
  readonly result?: unknown;
}

export interface StateSnapshot {
  readonly values: unknown;
  readonly next: readonly string[];
  readonly config: GraphConfig;
  readonly tasks: readonly TaskSnapshot[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly createdAt?: string;
  readonly parentConfig?: GraphConfig;
}

function hasMethod(value: unknown, name: string): boolean {
  return (
    value !== null &&
    (typeof value === 'object' || typeof value === 'function') &&
    typeof Reflect.get(value, name) === 'function'
  );
}

/** A compiled graph. */
export function isRunnableGraph(value: unknown): value is RunnableGraph {
  return hasMethod(value, 'stream') && hasMethod(value, 'invoke') && hasMethod(value, 'getState');
}

/** A graph that still has to be compiled (`new StateGraph(…)`). */
export function isGraphBuilder(value: unknown): value is { compile(): unknown } {
  return hasMethod(value, 'compile') && !isRunnableGraph(value);
}

/**
 * A copy of a graph with its own checkpointer; the subgraphs that it finds have the same one. A checkpointer
 * in `configurable` is not enough for states: LangGraph then looks for no subgraph, and rebuilds no delta
 * channel.
 */
export function withSaver(graph: RunnableGraph, saver: BaseCheckpointSaver): RunnableGraph {
  const copy = copyOf(compiledOf(graph));
  const subgraphs = copy.getSubgraphsAsync?.bind(copy);
  const getSubgraphsAsync: RunnableGraph['getSubgraphsAsync'] = async function* (namespace, recurse) {
    for await (const [name, subgraph] of subgraphs?.(namespace, recurse) ?? [])
      yield [name, withSaver(subgraph, saver)];
  };
  return Object.assign(copy, { checkpointer: saver, getSubgraphsAsync });
}

/** Releases before 0.2.17 answer `withConfig` with a wrapper that knows no states. */
function copyOf(graph: RunnableGraph): RunnableGraph {
  const copy = graph.withConfig({});
  if (isRunnableGraph(copy)) return copy;
  return Object.create(
    Object.getPrototypeOf(graph),
    Object.getOwnPropertyDescriptors(graph),
  ) as RunnableGraph;
}

/** The drawing of a graph; releases before 0.2.17 draw at once. */
export async function drawingOf(graph: RunnableGraph, xray: boolean | number): Promise<unknown> {
  const { getGraphAsync, getGraph } = graph;
  if (getGraphAsync) return (await getGraphAsync.call(graph, { xray })).toJSON();
  if (getGraph) return getGraph.call(graph, { xray }).toJSON();
  throw new Error('its LangGraph cannot draw graphs; update @langchain/langgraph');
}

/** The graph itself: createAgent() returns an object with the graph inside. */
export function compiledOf(graph: RunnableGraph): RunnableGraph {
  return 'graph' in graph && isRunnableGraph(graph.graph) ? graph.graph : graph;
}

/** Key under which a graph finds the checkpointer of one call; the graph object itself is shared and stays as it is. */
export const CHECKPOINTER_KEY = '__pregel_checkpointer';

/**
 * Keys that requests cannot set: `__` keys steer the library itself, and the start of a run has a separate
 * field.
 */
const RESERVED = /^(__|checkpoint_(id|ns|map)$)/;

/** Keys of the caller: only the server sets them. */
const CALLER = /^(langgraph_auth_(user|user_id|permissions)|graph_auth_user)$/;

/** Removes the fields of the caller, which requests and assistants may not set. */
export function withoutCaller(given: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([key]) => !CALLER.test(key)));
}

/**
 * The `configurable` of a run or of a question about a state.
 * @param given by requests and assistants; reserved keys are left out: an attempt that continues from where
 *   another stopped must not find the beginning of the first
 * @param own of the server, which replace the given ones
 */
export function configurableOf(
  given: JsonObject | null | undefined,
  ...own: readonly JsonObject[]
): Record<string, unknown> {
  const permitted = Object.fromEntries(
    Object.entries(withoutCaller(given ?? {})).filter(([key]) => !RESERVED.test(key)),
  );
  return Object.assign(permitted, ...own);
}
