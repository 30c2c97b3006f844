import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { accessSync, constants, existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isJsonObject, parseShort } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { inheritedEnvironment, startVariables, wholeEnvironment } from '#lib/config';
import { TerminalError } from '#lib/errors';
import { LIBRARY_FLOORS, type PythonSettings } from '#lib/graph-configuration';
import { REASON } from '#lib/resources';
import type { LoadOrder } from '../protocol/messages.js';

/** Time after its end within which the last output of a process is read. */
const LAST_WORDS_MS = 2_000;

/**
 * End of a child process, once its last output is read. Processes that it started may hold its pipes and
 * outlive it: after two seconds the pipes are closed here, or its end would not be seen before theirs.
 */
export function endOfChild(child: ChildProcess, clock: Clock): Promise<string | Error> {
  return new Promise((resolve) => {
    let cancel = (): void => undefined;
    child.once('error', resolve);
    child.once('exit', () => {
      cancel = clock.after(LAST_WORDS_MS, () => {
        for (const stream of child.stdio) stream?.destroy();
      });
    });
    child.once('close', (code, signal) => {
      cancel();
      resolve(signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`);
    });
  });
}

export interface StartedChild {
  readonly child: ChildProcess;
  /** See `endOfChild`. */
  readonly ended: Promise<string | Error>;
}

/** A graph host that has loaded the engine, and no agent. */
export interface SpareHost {
  /** Gives it once; undefined when it has ended. */
  take(): StartedChild | undefined;
}

export interface ChildProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly folder: string;
}

/**
 * Starts a program whose standard error and descriptors 3 and 4 are pipes to this process.
 * @throws Error when this process or the machine has no memory or no descriptors for one
 */
export function startChild(
  { command, args, folder: cwd, environment: env }: ChildProgram,
  clock: Clock,
): StartedChild {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'pipe', 'pipe', 'pipe'] });
  // before anything that throws: an 'error' that follows in the next tick would end this process without a listener
  const ended = endOfChild(child, clock);
  // Node makes no streams when spawn fails with EMFILE or ENFILE, although the type declares them
  const { stdio }: { readonly stdio?: ChildProcess['stdio'] } = child;
  if (!stdio)
    throw new Error('no file descriptors are left (EMFILE or ENFILE); raise the limit of open files');
  return { child, ended };
}

/** A process that computes for this long without a pause is ended: every request waits for it. */
const KILL_MS = 30_000;
const LOOK_MS = 1_000;

interface Silent {
  readonly pid: number | undefined;
  readonly silentMs: number;
  readonly ended: Promise<unknown>;
  kill(): void;
}

interface EndSilentParts {
  /** Name of the process in log lines. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time for which it has answered its server, but could call no code of the agent. */
  readonly stuckMs?: () => number;
}

/** Ends a process once it was silent or stuck for too long; another takes its place. */
export function endSilent(process: Silent, { name, clock, log, stuckMs = () => 0 }: EndSilentParts): void {
  let lookedAtMs = clock.monotonicMs();
  let cancel: () => void;
  const look = (): void => {
    const nowMs = clock.monotonicMs();
    // after a pause of this process itself, missing reports of others prove nothing
    const isAwake = nowMs - lookedAtMs < 3 * LOOK_MS;
    lookedAtMs = nowMs;
    const times = { silentMs: Math.round(process.silentMs), stuckMs: Math.round(stuckMs()) };
    if (isAwake && Math.max(times.silentMs, times.stuckMs) > KILL_MS) {
      log.error(times, `${name} does not answer; it is ended`);
      return process.kill();
    }
    cancel = clock.after(LOOK_MS, look);
  };
  cancel = clock.after(LOOK_MS, look);
  void process.ended.then(() => cancel());
}

const MAX_LINES = 20;
const MAX_CHARS = 2_000;

/** The last lines that a process wrote. */
export class LastLines {
  readonly #lines: string[] = [];

  add(line: string): void {
    this.#lines.push(line.slice(0, MAX_CHARS));
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  get text(): string {
    return this.#lines.join('\n').slice(-MAX_CHARS);
  }
}

/** Limit per line; a longer one comes in pieces: a writer without line ends must not fill this process. */
const MAX_REPORTED_CHARS = 64 * 1024;

/** Reads a stream of text line by line. */
export function onLines(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const take = (text: string): void => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    for (; rest.length > MAX_REPORTED_CHARS; rest = rest.slice(MAX_REPORTED_CHARS))
      onLine(rest.slice(0, MAX_REPORTED_CHARS));
  };
  stream.on('data', (chunk: Buffer) => take(decoder.write(chunk)));
  // a destroyed stream emits no end
  stream.on('close', () => {
    take(decoder.end());
    if (rest !== '') onLine(rest);
  });
}

/** Place where a host hangs, as its watch saw it. */
interface Hang {
  readonly stack: readonly string[];
  readonly runId?: string;
  readonly graphId?: string;
  readonly node?: string;
}

/** Limit of a line with a stack of functions. */
const MAX_LINE_CHARS = 256 * 1024;
const TEXTS = ['runId', 'graphId', 'node'] as const;

/**
 * Parses a report of the watch. Other code has its descriptor too: anything else that it writes is ignored.
 */
export function parseHang(line: string): Hang | undefined {
  try {
    const found = parseShort(line, MAX_LINE_CHARS);
    return isHang(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isHang(found: unknown): found is Hang {
  if (!isJsonObject(found)) return false;
  const { stack } = found;
  return (
    Array.isArray(stack) &&
    stack.every((one) => typeof one === 'string') &&
    TEXTS.every((name) => found[name] === undefined || typeof found[name] === 'string')
  );
}

/** Command that starts a process that runs graphs. */
export interface HostProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Fields that replace those of its order. */
  readonly instead: Partial<LoadOrder>;
  /** Gives a process of this program that is there already, once. */
  readonly take?: () => StartedChild | undefined;
}

/** Purpose of a process in Python. */
export type PythonProcess = 'graphs' | 'auth' | 'app';

export const NODE_PROGRAM = fileURLToPath(new URL('../host/main.js', import.meta.url));

/** The folder of the Python package, beside the sources: it is not compiled. */
const PYTHON_FOLDERS = ['../../python', '../../../../../apps/agent-server/python'].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

/**
 * Graphs in JavaScript and TypeScript.
 * @param variables that the agent's folder sets
 * @param spare first process of it
 */
export function nodeHost(variables: Readonly<Record<string, string>> = {}, spare?: SpareHost): HostProgram {
  return {
    command: process.execPath,
    args: [...process.execArgv, NODE_PROGRAM],
    environment: wholeEnvironment({}),
    instead: { variables: inheritedEnvironment(Object.keys(variables)) },
    take: () => (Object.keys(startVariables(variables)).length === 0 ? spare?.take() : undefined),
  };
}

/** Folders of a workspace that a lock file names as the project's own code. */
const OF_LOCKS: readonly (readonly [string, RegExp])[] = [
  ['uv.lock', /^source = \{ (?:editable|virtual|directory) = "([^"]+)" \}/gm],
  ['poetry.lock', /^type = "directory"\nurl = "([^"]+)"/gm],
];

function* membersOf(place: string): Generator<string> {
  for (const [lock, pattern] of OF_LOCKS)
    if (existsSync(join(place, lock)))
      for (const [, member = ''] of readFileSync(join(place, lock), 'utf8').matchAll(pattern))
        yield resolve(place, member);
}

/**
 * Folders that the code of an agent's folder is imported from: a package itself, one below it, or below
 * `src`; and so those of its workspace.
 */
function importFolders(folder: string, settings: PythonSettings): readonly string[] {
  const given = settings.folders.map((one) => resolve(folder, one));
  const members = given
    .flatMap((place) => [...membersOf(place)])
    .filter((one) => one.startsWith(`${folder}/`));
  return [...new Set([...given, ...members])].flatMap((place) => {
    if (place !== folder && existsSync(join(place, '__init__.py'))) return [dirname(place)];
    const source = join(place, 'src');
    return existsSync(source) ? [source, place] : [place];
  });
}

/** @throws TerminalError when the environment of the agent has no interpreter that this user can start */
function ownInterpreter(folder: string): string | undefined {
  const environment = join(folder, '.venv');
  if (!lstatSync(environment, { throwIfNoEntry: false })) return undefined;
  const own = join(environment, 'bin', 'python');
  try {
    accessSync(own, constants.X_OK);
    return own;
  } catch (error) {
    const link = lstatSync(own, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(own) : undefined;
    const isClosed = (error as NodeJS.ErrnoException).code === 'EACCES';
    const cure = isClosed
      ? 'install Python where every user of the machine can reach it (Debian: apt-get install python3 python3-venv), then add the image again'
      : 'install that Python again, then add the image again (in a folder of your own: make .venv again)';
    throw new TerminalError(
      REASON.graphLoadFailed,
      `the agent's .venv cannot start: its interpreter ${link ?? own} ${isClosed ? 'is closed to the user of this process' : 'does not exist'}; ${cure}`,
      { cause: error },
    );
  }
}

/**
 * Code of the agent in Python, by the interpreter of the agent's own environment (`.venv`), or the one that is named, or the
 * machine's. It gets no database: it asks its server.
 * @throws TerminalError (`GraphLoadFailed`) when its own environment cannot start
 */
export function pythonHost(
  folder: string,
  settings: PythonSettings,
  interpreter: string | undefined,
  kind: PythonProcess = 'graphs',
): HostProgram {
  const { POSTGRES_URI: _uri, REDIS_URI: _redis, ...environment } = wholeEnvironment({});
  return {
    command: ownInterpreter(folder) ?? interpreter ?? 'python3',
    args: [
      PYTHON_FOLDERS.find((place) => existsSync(place)) ?? 'python',
      kind,
      ...(kind === 'graphs' ? LIBRARY_FLOORS.python.map(({ name, oldest }) => `${name}>=${oldest}`) : []),
    ],
    environment,
    instead: { postgresUri: '', poolSize: 0, importFolders: importFolders(folder, settings) },
  };
}
