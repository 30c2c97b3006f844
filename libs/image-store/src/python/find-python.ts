import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TerminalError } from '#lib/errors';
import { findCommands, isOpenToAll } from '../install-user.js';

/** An interpreter of this machine. */
export interface Python {
  /** Path of the interpreter itself, without links. */
  readonly path: string;
  /** `3.12.4` */
  readonly version: string;
}

/** Oldest version that the newest LangGraph runs on. */
const OLDEST = [3, 10] as const;
const ASK = 'import os, platform, sys; print(platform.python_version(), os.path.realpath(sys.executable))';
const ANSWER_MS = 10_000;

async function ask(command: string): Promise<Python | undefined> {
  try {
    // isolated: files of the folder and variables of the user are none of its business
    const { stdout } = await promisify(execFile)(command, ['-I', '-c', ASK], { timeout: ANSWER_MS });
    const [, version, path] = /^(\S+) (.+)$/m.exec(stdout.trim()) ?? [];
    return version === undefined || path === undefined ? undefined : { version, path };
  } catch {
    return undefined; // a name for none, as version managers leave them
  }
}

function isNewEnough([major = 0, minor = 0]: readonly number[]): boolean {
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** Every interpreter that commands of these names start, once. */
async function* pythons(names: readonly string[]): AsyncGenerator<Python> {
  const seen = new Set<string>();
  for (const name of names)
    for (const command of findCommands(name)) {
      const python = await ask(command);
      if (!python || seen.has(python.path)) continue;
      seen.add(python.path);
      yield python;
    }
}

/**
 * The Python of this machine that runs an agent and for which its packages are installed. Where this process
 * is root, one that every user of the machine can reach is preferred: pods have users of their own then.
 * @param asked `python_version` of `langgraph.json`, as `3.12`; undefined for whichever there is
 * @throws TerminalError `PythonMissing`, with the findings and the remedy
 */
export async function findPython(asked: string | undefined): Promise<Python> {
  const found: Python[] = [];
  let closed: Python | undefined;
  for await (const python of pythons([
    ...(asked === undefined ? [] : [`python${asked}`]),
    'python3',
    'python',
  ])) {
    found.push(python);
    const fits = asked === undefined || `${python.version}.`.startsWith(`${asked}.`);
    if (!fits || !isNewEnough(python.version.split('.').map(Number))) continue;
    if (process.getuid?.() !== 0 || isOpenToAll(python.path)) return python;
    closed ??= python;
  }
  if (closed) return closed;
  const wanted = asked === undefined ? `Python ${OLDEST.join('.')} or newer` : `Python ${asked}`;
  const minor = /^\d+\.\d+/.exec(asked ?? '')?.[0] ?? '3';
  const has = found.map(({ version, path }) => `${version} (${path})`).join(', ') || 'none';
  throw new TerminalError(
    'PythonMissing',
    `langgraph.json: the graphs need ${wanted}; this machine has ${has}. Install it ` +
      `(Debian: apt-get install python${minor} python${minor}-venv) or change "python_version"`,
  );
}
