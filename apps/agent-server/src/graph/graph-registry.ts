import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { PublicError, TerminalError, errorText } from '#lib/errors';
import { describeOldLibrary, isOlder, LIBRARY_FLOORS } from '#lib/graph-configuration';
import { isJsonObject } from '#lib/json';
import { REASON } from '#lib/resources';
import type { GraphFolder, GraphSource } from './graph-folder.js';
import { libraryVersion } from './library-copies.js';
import type { LoadProgress } from './load-progress.js';
import { isGraphBuilder, isRunnableGraph, type GraphConfig, type RunnableGraph } from './runnable-graph.js';
import { shareEngine } from './shared-engine.js';
import { installSourceHooks, readSources } from './source-hooks.js';

type GraphFactory = (config: GraphConfig) => unknown;

function isGraphFactory(value: unknown): value is GraphFactory {
  return typeof value === 'function';
}

/** Receives the sources of the graphs. */
export interface SeenSources {
  /** The agent's own files, once they compile. */
  sources(files: readonly string[]): void;
  /** A module of a package that one of them imports, as a URL. */
  package(url: string): void;
}

interface Loaded {
  readonly source: GraphSource;
  readonly graph: RunnableGraph | GraphFactory;
}

/**
 * A compiled graph from any of the exports that a module may have: a promise, a builder, or an object that
 * holds one.
 */
async function unwrap(exported: unknown): Promise<unknown> {
  const value = await exported;
  if (isRunnableGraph(value)) return value;
  if (isGraphBuilder(value)) return value.compile();
  // createAgent() answers an object with the graph inside
  if (typeof value === 'object' && value !== null && 'graph' in value && isRunnableGraph(value.graph))
    return value.graph;
  return value;
}

function failed(
  folder: string,
  { graphId, file }: GraphSource,
  what: string,
  cause?: unknown,
): TerminalError {
  const message = `graph "${graphId}" of ${file} failed to load: ${what}`;
  return new TerminalError(REASON.graphLoadFailed, withoutFolder(message, folder), { cause });
}

async function load(folder: string, source: GraphSource): Promise<Loaded> {
  const { file, exportName } = source;
  try {
    const module: unknown = await import(pathToFileURL(file).href);
    if (!isJsonObject(module) || !(exportName in module))
      throw new Error(`export "${exportName}" does not exist`);
    const graph = await unwrap(module[exportName]);
    if (isRunnableGraph(graph)) return { source, graph };
    if (isGraphFactory(graph)) return { source, graph };
    throw new Error(`export "${exportName}" is not a graph`);
  } catch (error) {
    const place = placeOf(error, folder);
    throw failed(folder, source, errorText(error) + (place === undefined ? '' : ` (${place})`), error);
  }
}

/**
 * Replaces paths by names in the agent's folder, as their author knows them: the path of the folder's copy is
 * long.
 */
function withoutFolder(message: string, folder: string): string {
  return message.replaceAll(`${pathToFileURL(folder).href}/`, '').replaceAll(`${folder}/`, '');
}

/** `src/graph.ts:12:5`: the first of the agent's own lines in the stack of an error. */
function placeOf(error: unknown, folder: string): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  for (const line of stack.split('\n')) {
    const at = line.indexOf(`${folder}/`);
    const place = at < 0 ? undefined : /^[^\s()]+:\d+(?::\d+)?/.exec(line.slice(at + folder.length + 1))?.[0];
    if (place !== undefined && !place.startsWith('node_modules/')) return place;
  }
  return undefined;
}

/** The graphs of one agent, loaded once at start. */
export class GraphRegistry {
  readonly #graphs: ReadonlyMap<string, Loaded>;

  /** @param versions LangGraph of each graph, where it has a copy */
  private constructor(
    graphs: readonly Loaded[],
    private readonly versions: ReadonlyMap<string, string>,
    /** Real path of the agent's folder. */
    readonly folder: string,
  ) {
    this.#graphs = new Map(graphs.map((loaded) => [loaded.source.graphId, loaded]));
  }

  /**
   * @throws TerminalError (`GraphLoadFailed`) for sources that do not compile, or the first graph that does not load
   */
  static async load(
    { folder, graphs: sources, modules }: Pick<GraphFolder, 'folder' | 'graphs' | 'modules'>,
    progress: LoadProgress,
    seen: SeenSources,
  ): Promise<GraphRegistry> {
    const versions = new Map<string, string>();
    for (const source of sources) {
      if (!existsSync(source.file)) throw failed(folder, source, 'the file does not exist');
      const version = await libraryVersion(source.file);
      if (version === undefined) continue;
      versions.set(source.graphId, version);
      const [reason] = LIBRARY_FLOORS.javascript.flatMap((floor) => describeOldLibrary(floor, version) ?? []);
      if (reason !== undefined) throw failed(folder, source, reason);
    }
    const compiled = await readSources(folder, [
      ...new Set([...sources.map(({ file }) => file), ...modules]),
    ]);
    seen.sources([...compiled.targets.keys()]);
    const [first] = sources;
    if (first) shareEngine(first.file);
    installSourceHooks(compiled, (url) => seen.package(url));
    progress.follow(compiled);
    const graphs: Loaded[] = [];
    // One after the other: graphs often share modules, and the message should name the first that failed.
    for (const source of sources) {
      progress.begin(source);
      graphs.push(await load(folder, source));
    }
    return new GraphRegistry(graphs, versions, folder);
  }

  get sources(): readonly GraphSource[] {
    return [...this.#graphs.values()].map((loaded) => loaded.source);
  }

  get ids(): readonly string[] {
    return [...this.#graphs.keys()];
  }

  /** Version of LangGraph of the first graph that has a copy. */
  get library(): string | undefined {
    return this.versions.values().next().value;
  }

  /** True when a graph is of a release of LangGraph below a version. */
  isOlder(graphId: string, than: string): boolean {
    const version = this.versions.get(graphId);
    return version !== undefined && isOlder(version, than);
  }

  /** Graphs that were compiled with a store, which the server's replaces. */
  get withOwnStore(): readonly string[] {
    return [...this.#graphs]
      .filter(([, { graph }]) => typeof graph !== 'function' && (graph.store ?? undefined) !== undefined)
      .map(([graphId]) => graphId);
  }

  has(graphId: string): boolean {
    return this.#graphs.has(graphId);
  }

  /**
   * The graph for one run or one question about a state; a factory is called each time.
   * @throws PublicError `not_found` for a graph that this revision does not have
   */
  async get(graphId: string, config: GraphConfig = {}): Promise<RunnableGraph> {
    const loaded = this.#graphs.get(graphId);
    if (!loaded) throw new PublicError('not_found', `Graph "${graphId}" is not part of this deployment`);
    if (typeof loaded.graph !== 'function') return loaded.graph;
    const made = await unwrap(loaded.graph(config));
    if (!isRunnableGraph(made))
      throw new Error(`the factory of graph "${graphId}" returned no graph; return a compiled graph`);
    return made;
  }

  /** File of a graph's module, for finding the agent's own copy of a package. */
  fileOf(graphId: string): string | undefined {
    return this.#graphs.get(graphId)?.source.file;
  }
}
