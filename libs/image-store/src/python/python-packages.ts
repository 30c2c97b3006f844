import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TerminalError } from '#lib/errors';
import type { PythonSettings } from '#lib/graph-configuration';
import type { Python } from './find-python.js';
import { readRequirements } from './requirements-file.js';
import { requireWheels } from './require-wheels.js';

/** Packages to install for an agent. */
export interface PythonPackages {
  /** Every package with its version and hashes, installed first and as they are. */
  readonly locked: readonly string[];
  /** Resolved when they are installed. */
  readonly open: readonly string[];
  readonly constraints: readonly string[];
}

/** Files that name the packages of a folder; the first existing one counts. */
const LISTS = ['uv.lock', 'poetry.lock', 'requirements.txt', 'pyproject.toml'] as const;
type List = (typeof LISTS)[number];

/** Path of the reader beside the sources: it is not compiled. */
const READER = ['../../python', '../../../../../libs/image-store/python']
  .map((place) => fileURLToPath(new URL(`${place}/listed_packages.py`, import.meta.url)))
  .find((path) => existsSync(path));

const READ_MS = 60_000;

interface Listed {
  readonly lines: readonly string[];
  readonly isLocked: boolean;
  readonly folders: readonly string[];
}

function refused(message: string): TerminalError {
  return new TerminalError('NotAnAgent', message);
}

function listOf(image: string, folder: string): List | undefined {
  const place = join(image, folder);
  if (!statSync(place, { throwIfNoEntry: false })?.isDirectory())
    throw refused(`langgraph.json: "dependencies": ${folder} is not a folder`);
  const list = LISTS.find((name) => existsSync(join(place, name)));
  if (list) return list;
  const made = ['setup.py', 'setup.cfg', 'Pipfile'].find((name) => existsSync(join(place, name)));
  if (made !== undefined)
    throw refused(
      `${folder}: packages are installed from ${LISTS.join(', ')}, and it has ${made} alone; list them in requirements.txt`,
    );
  return undefined;
}

/** @param reader an interpreter that has pip */
async function readList(folder: string, list: List, python: Python, reader: Python): Promise<Listed> {
  const { stdout } = await promisify(execFile)(
    reader.path,
    ['-I', READER ?? 'listed_packages.py', folder, list, python.path],
    { timeout: READ_MS, maxBuffer: 2 ** 26 },
  );
  const found = JSON.parse(stdout) as Listed | { readonly refused: string };
  if ('refused' in found) throw refused(found.refused);
  return found;
}

/** The name that a requirement begins with, as indexes compare it. */
function nameOf(line: string): string {
  return (/^[A-Za-z0-9][A-Za-z0-9._-]*/.exec(line)?.[0] ?? '').replaceAll(/[-_.]+/g, '-').toLowerCase();
}

/**
 * Reads the packages that `dependencies` of `langgraph.json` asks for. A folder adds the packages that it
 * lists; its code is imported from its place. LangGraph itself is added where it is not named.
 * @param reader an interpreter that has pip
 * @throws TerminalError for packages that cannot be installed
 */
export async function pythonPackages(
  image: string,
  { folders, packages }: PythonSettings,
  { python, reader, builds }: { readonly python: Python; readonly reader: Python; readonly builds: boolean },
): Promise<PythonPackages> {
  const [locked, open, constraints]: [string[], string[], string[]] = [[], [...packages], []];
  for (const line of packages) requireWheels(image, 'langgraph.json: "dependencies"', line, builds);
  const known = new Set(folders.map((folder) => normalize(join(folder, '.'))));
  for (const folder of folders) {
    const list = listOf(image, folder);
    if (!list) continue;
    const found =
      list === 'requirements.txt'
        ? readRequirements(image, join(folder, list), builds)
        : await readList(join(image, folder), list, python, reader);
    for (const line of found.lines) requireWheels(image, join(folder, list), line, builds);
    const inner =
      'isLocked' in found ? found.folders.map((one) => normalize(join(folder, one))) : found.folders;
    const stranger = inner.find((one) => !known.has(normalize(join(one, '.'))));
    if (stranger !== undefined)
      throw refused(
        `${join(folder, list)} names the folder ${stranger}; add "./${stranger}" to "dependencies" of langgraph.json, so that its code is imported`,
      );
    const hasHashes = found.lines.some((line) => line.includes(' --hash'));
    (hasHashes ? locked : open).push(...found.lines);
    if ('constraints' in found) constraints.push(...found.constraints);
  }
  if (![...locked, ...open].some((line) => nameOf(line) === 'langgraph')) open.push('langgraph');
  return { locked, open, constraints };
}
