import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GRAPH_TYPES_FILE } from '#lib/graph-configuration';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { importOfAgent } from './library-copies.js';
import type { RunnableGraph } from './runnable-graph.js';

/** Descriptions of the graphs of this revision for others. */
export interface DescribedGraphs {
  /** Description of a graph in `langgraph.json`. */
  descriptionOf(graphId: string): string | undefined;
  /** @throws PublicError `unavailable` */
  schemasOf(graphId: string): Promise<GraphSchemas>;
}

/** JSON Schemas of a graph as the wire names them; null when the graph does not declare them. */
export interface GraphSchemas {
  readonly graph_id: string;
  readonly input_schema: unknown;
  readonly output_schema: unknown;
  readonly state_schema: unknown;
  readonly config_schema: unknown;
  readonly context_schema: unknown;
}

/** The functions of LangGraph that read schemas off a graph that was made from Zod or a StateSchema. */
const READERS = {
  state: 'getStateTypeSchema',
  input: 'getInputTypeSchema',
  output: 'getOutputTypeSchema',
  config: 'getConfigTypeSchema',
} as const;

/** Channels that LangGraph makes for itself. */
const INTERNAL_CHANNEL = /^(__|branch:|join:|start:)/;

/** Reducers of LangGraph for lists of messages. */
const MESSAGE_REDUCERS: ReadonlySet<unknown> = new Set([
  'messagesStateReducer',
  'addMessages',
  'messagesDeltaReducer',
]);

const MESSAGES: JsonObject = {
  type: 'array',
  items: { type: 'object', properties: { type: { type: 'string' }, content: {} } },
  langgraph_type: 'messages',
};

/** Knowledge of a channel of an annotation at run time: messages by their reducer, others by what they begin with. */
function schemaOfChannel(channel: unknown): JsonObject {
  const read = (name: string): unknown => (isJsonObject(channel) ? channel[name] : undefined);
  const [operator, first] = [read('operator') ?? read('reducer'), read('initialValueFactory')];
  if (typeof operator !== 'function') return {};
  if (MESSAGE_REDUCERS.has(operator.name)) return MESSAGES;
  const value: unknown = typeof first === 'function' ? (first as () => unknown)() : undefined;
  if (Array.isArray(value)) return { type: 'array' };
  const type = typeof value;
  if (type === 'string' || type === 'number' || type === 'boolean') return { type };
  return isJsonObject(value) && Object.getPrototypeOf(value) === Object.prototype ? { type: 'object' } : {};
}

/** Schema of an annotation at run time: its types are gone, and a field of which nothing is known may hold anything. */
function schemaOfChannels(channels: ReadonlyMap<string, unknown>): JsonObject {
  const properties = [...channels]
    .filter(([name]) => !INTERNAL_CHANNEL.test(name))
    .map(([name, channel]) => [name, schemaOfChannel(channel)]);
  return { type: 'object', properties: Object.fromEntries(properties) as JsonObject };
}

function channelsOf(graph: RunnableGraph): ReadonlyMap<string, unknown> | undefined {
  const channels: unknown = Reflect.get(graph, 'channels');
  const builder: unknown = Reflect.get(graph, 'builder');
  if (!isJsonObject(channels) || builder === undefined) return undefined;
  // releases before 0.2.70 have a channel for each node, by its name
  const nodes: unknown = Reflect.get(graph, 'nodes');
  return new Map(
    Object.entries(channels).filter(([name]) => !isJsonObject(nodes) || !Object.hasOwn(nodes, name)),
  );
}

/** The schema of a field, with what the channel shows at run time where the field's type says nothing. */
function withChannels(schema: unknown, channels: JsonObject | undefined): unknown {
  const [typed, named] = [schema, channels].map((one) => (isJsonObject(one) ? one['properties'] : undefined));
  if (!isJsonObject(schema) || !isJsonObject(typed) || !isJsonObject(named)) return schema;
  const isEmpty = (field: unknown): boolean => isJsonObject(field) && Object.keys(field).length === 0;
  const properties = Object.entries(typed).map(([name, field]) => [
    name,
    isEmpty(field) ? (named[name] ?? field) : field,
  ]);
  return { ...schema, properties: Object.fromEntries(properties) as JsonObject };
}

/** Schemas by the types of the sources, of all graphs and of those that are nodes of others. */
interface TypeSchemas {
  readonly graphs: JsonObject;
  readonly subgraphs: JsonObject;
}

/** Read at each question, which are few: `dev` writes the file anew after each change of a source. */
async function readTypeSchemas(folder: string): Promise<TypeSchemas> {
  const read = await readFile(join(folder, GRAPH_TYPES_FILE), 'utf8').then(parseJson, () => undefined);
  const [graphs, subgraphs] = ['graphs', 'subgraphs'].map((name) =>
    isJsonObject(read) ? read[name] : undefined,
  );
  return { graphs: isJsonObject(graphs) ? graphs : {}, subgraphs: isJsonObject(subgraphs) ? subgraphs : {} };
}

/**
 * The schemas of a graph: by its Zod objects or StateSchema, else by the types of its sources, else names of fields,
 * messages and what defaults show.
 * @param file module of the graph, for finding the agent's own copy of LangGraph
 */
async function readSchemas(
  graph: RunnableGraph,
  graphId: string,
  { file, types }: { readonly file: string | undefined; readonly types: unknown },
): Promise<GraphSchemas> {
  const readers =
    file === undefined ? undefined : await importOfAgent(file, '@langchain/langgraph', './zod/schema');
  const channels = channelsOf(graph);
  const named = channels && schemaOfChannels(channels);
  const read = (kind: keyof typeof READERS): unknown => {
    const reader: unknown = readers?.[READERS[kind]];
    const own = typeof reader === 'function' ? (reader(graph) as unknown) : undefined;
    return own ?? withChannels(isJsonObject(types) ? types[kind] : undefined, named);
  };
  const config = read('config') ?? null;
  return {
    graph_id: graphId,
    input_schema: read('input') ?? named ?? null,
    output_schema: read('output') ?? named ?? null,
    state_schema: read('state') ?? named ?? null,
    config_schema: config,
    context_schema: config,
  };
}

/** The schemas of a graph of this agent. */
export async function readGraphSchemas(
  graph: RunnableGraph,
  graphId: string,
  agent: { readonly folder: string; readonly file: string | undefined },
): Promise<GraphSchemas> {
  const { graphs } = await readTypeSchemas(agent.folder);
  return await readSchemas(graph, graphId, { file: agent.file, types: graphs[graphId] });
}

/** The schemas of the graphs inside a graph by their names, `a|b` for those deeper down. */
export async function readSubgraphSchemas(
  graph: RunnableGraph,
  asked: { readonly namespace: string | undefined; readonly recurse: boolean },
  agent: { readonly folder: string; readonly file: string | undefined },
): Promise<Record<string, GraphSchemas>> {
  const { subgraphs } = await readTypeSchemas(agent.folder);
  const found: Record<string, GraphSchemas> = {};
  for await (const [name, subgraph] of graph.getSubgraphsAsync?.(asked.namespace, asked.recurse) ?? []) {
    const types = subgraphs[name.split('|').at(-1) ?? name];
    found[name] = await readSchemas(subgraph, name, { file: agent.file, types });
  }
  return found;
}
