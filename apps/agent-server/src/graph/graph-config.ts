import { readFile, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { TerminalError } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { REASON } from '#lib/resources';

/** Where one graph comes from. */
export interface GraphSource {
  readonly graphId: string;
  /** Absolute path of the module. */
  readonly file: string;
  /** Name of its export. */
  readonly exportName: string;
  readonly description?: string;
}

/** What the server reads of `langgraph.json`; other keys belong to other tools and are let through. */
export interface GraphConfiguration {
  /** Real path of the agent's folder. */
  readonly folder: string;
  readonly graphs: readonly GraphSource[];
  /** The folder asks for a custom authentication handler. */
  readonly hasCustomAuth: boolean;
}

function failed(message: string, cause?: unknown): TerminalError {
  return new TerminalError(REASON.graphLoadFailed, message, { cause });
}

function parseSource(folder: string, graphId: string, given: unknown): GraphSource {
  const { path, description } = isJsonObject(given) ? given : { path: given };
  if (typeof path !== 'string' || path === '')
    throw failed(`langgraph.json: graph "${graphId}" must be "FILE:EXPORT"`);
  const colon = path.lastIndexOf(':');
  const file = colon > 0 ? path.slice(0, colon) : path;
  if (/\.py$/.test(file))
    throw failed(`graph "${graphId}": ${file} is Python; this server runs TypeScript and JavaScript`);
  return {
    graphId,
    file: resolve(folder, file),
    exportName: (colon > 0 && path.slice(colon + 1)) || 'default',
    ...(typeof description === 'string' ? { description } : {}),
  };
}

/**
 * Reads `langgraph.json` of an agent's folder.
 * @throws TerminalError (`GraphLoadFailed`) when it is missing, no JSON, or names no graph
 */
export async function readGraphConfiguration(folder: string): Promise<GraphConfiguration> {
  const path = join(folder, 'langgraph.json');
  let document: unknown;
  try {
    document = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw failed('langgraph.json of the agent cannot be read as JSON', error);
  }
  const { graphs, auth } = isJsonObject(document) ? document : {};
  if (!isJsonObject(graphs) || Object.keys(graphs).length === 0)
    throw failed('langgraph.json names no graph: it needs {"graphs": {"NAME": "FILE:EXPORT"}}');
  const real = await realpath(folder);
  return {
    folder: real,
    graphs: Object.entries(graphs).map(([graphId, given]) => parseSource(real, graphId, given)),
    hasCustomAuth: auth !== undefined,
  };
}
