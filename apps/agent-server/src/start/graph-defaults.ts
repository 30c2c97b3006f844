import { z } from 'zod';
import { errorText, TerminalError } from '#lib/errors';
import { isJsonObject, parseShort } from '#lib/json';
import { REASON } from '#lib/resources';
import type { GraphDefault } from '../assistant/assistants.js';
import { document, runConfig } from '../run/requested-run.js';

/** Variable with the defaults of graphs: JSON of `{GRAPH: {configurable, tags, recursion_limit, …, context}}`. */
export const GRAPH_DEFAULTS = 'LANGGRAPH_CONFIG';

/** Longest text of the variable; no system gives a process a longer one. */
const MAX_CHARS = 128 * 1024;

const shape = document.pipe(runConfig.extend({ context: document.optional() }));

function failed(message: string): TerminalError {
  return new TerminalError(REASON.graphLoadFailed, `${GRAPH_DEFAULTS}: ${message}`);
}

function parseDefault(graphId: string, given: unknown): GraphDefault {
  const parsed = shape.safeParse(given);
  if (!parsed.success)
    throw failed(`graph "${graphId}": ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`);
  const { context = {}, ...config } = parsed.data;
  return { config, context };
}

/**
 * @param text of the variable; undefined: no graph has defaults
 * @throws TerminalError `GraphLoadFailed` for what is no such JSON, or names a graph that the agent does not have
 */
export function parseGraphDefaults(
  text: string | undefined,
  graphIds: ReadonlySet<string>,
): ReadonlyMap<string, GraphDefault> {
  if (text === undefined || text === '') return new Map();
  let given: unknown;
  try {
    given = parseShort(text, MAX_CHARS);
  } catch (error) {
    throw failed(`it is not JSON: ${errorText(error)}`);
  }
  if (!isJsonObject(given)) throw failed('it must be an object with graphs as names');
  const unknown = Object.keys(given).filter((graphId) => !graphIds.has(graphId));
  if (unknown.length > 0) throw failed(`the agent has no graph ${unknown.join(', ')}`);
  return new Map(Object.entries(given).map(([graphId, one]) => [graphId, parseDefault(graphId, one)]));
}
