import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { wholeEnvironment } from '#lib/config';
import type { LoadOrder } from '../protocol/messages.js';

/** How a process that runs graphs is started. */
export interface HostProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** What its order says instead. */
  readonly instead: Partial<LoadOrder>;
}

const NODE_PROGRAM = fileURLToPath(new URL('../host/main.js', import.meta.url));

/** The folder of the Python package, beside the sources: it is not compiled. */
const PYTHON_FOLDERS = ['../../python', '../../../../../apps/agent-server/python'].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

/** Graphs in JavaScript and TypeScript. */
export function nodeHost(): HostProgram {
  return {
    command: process.execPath,
    args: [...process.execArgv, NODE_PROGRAM],
    environment: wholeEnvironment({}),
    instead: {},
  };
}

/**
 * Graphs in Python, by the interpreter of the agent's own environment (`.venv`), or the one that is named, or the
 * machine's. It gets no database: it asks its server.
 */
export function pythonHost(folder: string, interpreter: string | undefined): HostProgram {
  const own = join(folder, '.venv', 'bin', 'python');
  const { POSTGRES_URI: _uri, REDIS_URI: _redis, ...environment } = wholeEnvironment({});
  return {
    command: existsSync(own) ? own : (interpreter ?? 'python3'),
    args: [PYTHON_FOLDERS.find((place) => existsSync(place)) ?? 'python'],
    environment,
    instead: { postgresUri: '', poolSize: 0 },
  };
}
