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
