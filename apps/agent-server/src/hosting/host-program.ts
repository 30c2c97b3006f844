import { accessSync, constants, existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment, startVariables, wholeEnvironment } from '#lib/config';
import { TerminalError } from '#lib/errors';
import { LIBRARY_FLOORS, type PythonSettings } from '#lib/graph-configuration';
import { REASON } from '#lib/resources';
import type { LoadOrder } from '../protocol/messages.js';
import type { SpareHost, StartedChild } from './child.js';

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
