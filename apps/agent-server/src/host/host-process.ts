import { AsyncLocalStorage } from 'node:async_hooks';
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Logger } from '#lib/telemetry';
import { keepProcessAlive, systemClock } from '#lib/time';
import type { AttemptedRun } from '../protocol/execution.js';

/** Thrown into an agent that wants to end the process. */
class ExitRefused extends Error {
  override readonly name = 'ExitRefused';
}

/**
 * Keeps agents from ending the server, and with it the runs of others: `process.exit` throws from now on.
 * @returns puts it back, for the end of the server itself
 */
function forbidExit(): () => void {
  const { exit } = process;
  process.exit = (code?: number | string | null): never => {
    throw new ExitRefused(
      `the agent called process.exit(${code ?? ''}), which would end the runs of others; throw an error instead`,
    );
  };
  return () => {
    process.exit = exit;
  };
}

/** Name of the global function that answers which run this process executes right now; the watch calls it. */
const WHO_IS_AT_WORK = '__agentplaneWhoIsAtWork';

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
function offerWhoIsAtWork(): void {
  Reflect.set(globalThis, WHO_IS_AT_WORK, (): string => {
    const run = current.getStore();
    const found = { stack: stackAtWork(), runId: run?.runId, graphId: run?.graphId, node: nodeAtWork() };
    return JSON.stringify(found);
  });
}

/**
 * Starts the watch of this process, a thread beside code of others.
 * @param question expression that answers, as JSON, the functions that this process executes
 */
function startWatch(question: string, log: Logger): void {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const watch = new Worker(new URL('../watch/main.js', import.meta.url), {
    workerData: { beats, server: process.ppid, question },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  watch.unref();
  watch.on('error', (error) => log.warn({ err: error }, 'watching this process failed'));
  const beat = (): void => {
    Atomics.add(beats, 0, 1);
    systemClock.after(500, beat);
  };
  beat();
}

/**
 * Makes this process one that runs code of an agent for a server, which alone decides when it ends.
 * @returns ends it: the agent cannot
 */
export function becomeHost(log: Logger): (code: number) => never {
  const exit = process.exit.bind(process);
  // a terminal's Ctrl-C reaches the server too
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // a promise that an agent forgot must not end the work of others
  process.on('unhandledRejection', (reason) => log.error({ err: reason }, 'unhandled rejection'));
  process.on('uncaughtException', (error) => {
    writeSync(2, `uncaught exception: ${error.stack ?? String(error)}\n`);
    exit(1);
  });
  offerWhoIsAtWork();
  startWatch(`globalThis.${WHO_IS_AT_WORK}?.()`, log);
  keepProcessAlive();
  forbidExit();
  return exit;
}
