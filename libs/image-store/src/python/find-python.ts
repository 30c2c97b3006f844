import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '#lib/config';
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

/** Interpreters that pyenv and uv have installed for this user; their versions are not all in `PATH`. */
function managed(): readonly string[] {
  const {
    HOME = '/',
    PYENV_ROOT = join(HOME, '.pyenv'),
    UV_PYTHON_INSTALL_DIR = join(HOME, '.local', 'share', 'uv', 'python'),
  } = inheritedEnvironment(['HOME', 'PYENV_ROOT', 'UV_PYTHON_INSTALL_DIR']);
  return [join(PYENV_ROOT, 'versions'), UV_PYTHON_INSTALL_DIR].flatMap((folder) => {
    try {
      const versions = readdirSync(folder).filter((name) => /^(cpython-)?3\.\d+/.test(name));
      return versions.sort().map((name) => join(folder, name, 'bin', 'python3'));
    } catch {
      return [];
    }
  });
}

/** Every interpreter that commands of these names start, and those of version managers, once. */
async function* pythons(names: readonly string[]): AsyncGenerator<Python> {
  const seen = new Set<string>();
  for (const command of [...names.flatMap(findCommands), ...managed()]) {
    const python = await ask(command);
    if (!python || seen.has(python.path)) continue;
    seen.add(python.path);
    yield python;
  }
}

function minorOf(version: string): number {
  return Number(version.split('.')[1]);
}

/** Interpreters of this machine that LangGraph runs on; those nearest to the version that was asked for come first. */
export async function listPythons(asked: string): Promise<readonly Python[]> {
  const found: Python[] = [];
  const minors = Array.from({ length: 10 }, (_, at) => `python3.${OLDEST[1] + at}`);
  for await (const python of pythons([...minors, 'python3', 'python']))
    if (isNewEnough(python.version.split('.').map(Number))) found.push(python);
  const distance = ({ version }: Python): number => Math.abs(minorOf(version) - minorOf(asked));
  return found.sort((a, b) => distance(a) - distance(b) || minorOf(b.version) - minorOf(a.version));
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
      `(Debian: apt-get install python${minor} python${minor}-venv; any system: uv python install ${minor}) or change "python_version"`,
  );
}
