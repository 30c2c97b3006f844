import { AsyncLocalStorage } from 'node:async_hooks';
import type { AttemptedRun } from '../protocol/attempted-run.js';

/** Name of the global function that answers which run this process executes right now; the watch calls it. */
export const WHO_IS_AT_WORK = '__agentplaneWhoIsAtWork';

/**
 * Symbol under which LangChain keeps the configuration of the current run, for every copy of LangChain that
 * an agent has.
 */
const LANGCHAIN_STORAGE = Symbol.for('ls:tracing_async_local_storage');
const LANGCHAIN_CONFIG = Symbol.for('lc:child_config');

const current = new AsyncLocalStorage<AttemptedRun>();

/** Performs a run so that the watch that stops the process in the middle can ask which one it is. */
export function whileAtWork<T>(run: AttemptedRun, perform: () => Promise<T>): Promise<T> {
  return current.run(run, perform);
}

function get(value: unknown, key: string | symbol): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

function nodeAtWork(): unknown {
  const storage: unknown = Reflect.get(globalThis, LANGCHAIN_STORAGE);
  if (!(storage instanceof AsyncLocalStorage)) return undefined;
  const config = get(get(storage.getStore(), 'extra'), LANGCHAIN_CONFIG);
  return get(get(config, 'metadata'), 'langgraph_node');
}

const MOST_FRAMES = 30;
const SHOWN_FRAMES = 8;

/** The functions in progress, innermost first, by the lines that their author wrote. */
function stackAtWork(): string[] {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = MOST_FRAMES;
  const lines = (new Error().stack ?? '').split('\n').map((line) => line.trim().replace(/^at /, ''));
  Error.stackTraceLimit = stackTraceLimit;
  // the frames above it are this question itself and the expression that asks
  const asked = lines.findIndex((line) => line.includes('eval'));
  const theirs = lines.slice(asked + 1).filter((line) => !line.includes('node:internal'));
  return theirs.slice(0, SHOWN_FRAMES);
}

/** Lets the watch ask. */
export function offerWhoIsAtWork(): void {
  Reflect.set(globalThis, WHO_IS_AT_WORK, (): string => {
    const run = current.getStore();
    const found = { stack: stackAtWork(), runId: run?.runId, graphId: run?.graphId, node: nodeAtWork() };
    return JSON.stringify(found);
  });
}
