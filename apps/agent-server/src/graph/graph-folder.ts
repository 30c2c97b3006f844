import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { TerminalError } from '#lib/errors';
import { isModuleName, parseGraphConfiguration, type GraphConfiguration } from '#lib/graph-configuration';
import { REASON } from '#lib/resources';

/** Origin of one graph. */
export interface GraphSource {
  readonly graphId: string;
  /** Absolute path of the module; a Python module may have its dotted name. */
  readonly file: string;
  /** Name of its export. */
  readonly exportName: string;
  readonly description?: string;
}

/** Contents of a `langgraph.json`, as the server uses them. */
export interface GraphFolder extends Omit<GraphConfiguration, 'graphs' | 'env'> {
  /** Real path of the agent's folder. */
  readonly folder: string;
  readonly graphs: readonly GraphSource[];
  /** Other files of the agent that are imported, absolute: made to JavaScript with those of the graphs. */
  readonly modules: readonly string[];
  /** Variables that `env` sets, below those that the process was started with. */
  readonly variables: Readonly<Record<string, string>>;
}

function failed(message: string, cause?: unknown): TerminalError {
  return new TerminalError(REASON.graphLoadFailed, `langgraph.json: ${message}`, { cause });
}

/** Modules of Python may be named as they are imported. */
function placeOf(folder: string, file: string): string {
  return isModuleName(file) ? file : resolve(folder, file);
}

/**
 * A file of variables may be missing: it is often excluded from deployments, and its secrets are given
 * otherwise.
 */
async function readVariables(
  folder: string,
  env: string | Readonly<Record<string, string>> | undefined,
): Promise<Pick<GraphFolder, 'variables' | 'notes'>> {
  if (typeof env !== 'string') return { variables: env ?? {}, notes: [] };
  try {
    const variables = parseEnv(await readFile(resolve(folder, env), 'utf8'));
    return { variables: variables as Record<string, string>, notes: [] };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw failed(`the file ${env} of "env" cannot be read`, error);
    return {
      variables: {},
      notes: [
        `"env" of langgraph.json has no effect: the image has no file ${env}; secrets of the deployment are set all the same`,
      ],
    };
  }
}

/**
 * Reads `langgraph.json` of an agent's folder.
 * @throws TerminalError (`GraphLoadFailed`) when it is missing, no JSON, names no graph, or has an
 *   unsupported setting
 */
export async function readGraphFolder(folder: string): Promise<GraphFolder> {
  const real = await realpath(folder);
  let text: string;
  try {
    text = await readFile(join(real, 'langgraph.json'), 'utf8');
  } catch (error) {
    throw failed('the file cannot be read', error);
  }
  const { env, ...configuration } = parseGraphConfiguration(text, ['javascript', 'python']);
  const { graphs, auth, priority, http, store, notes } = configuration;
  const read = await readVariables(real, env);
  return {
    ...configuration,
    folder: real,
    graphs: graphs.map((graph) => ({ ...graph, file: placeOf(real, graph.file) })),
    auth: auth && { ...auth, file: placeOf(real, auth.file) },
    priority: priority && { ...priority, file: placeOf(real, priority.file) },
    http: { ...http, app: http.app && { ...http.app, file: placeOf(real, http.app.file) } },
    variables: read.variables,
    modules: [store.index?.source?.file, priority?.file]
      .filter((file) => file !== undefined)
      .map((file) => resolve(real, file))
      .filter((file) => existsSync(file)),
    notes: [...notes, ...read.notes],
  };
}
