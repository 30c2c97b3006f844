import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TerminalError } from '#lib/errors';
import type { PythonSettings } from '#lib/graph-configuration';
import { isReplaced, leftOutNote } from '../replaced-packages.js';
import type { Python } from './find-python.js';
import { requireWheels } from './require-wheels.js';

/** A requirements file with all that it includes, as one text. */
export interface Requirements {
  /** One requirement or option each. */
  readonly lines: readonly string[];
  readonly constraints: readonly string[];
  /** Folders of the project that it names; their code is imported, not installed. */
  readonly folders: readonly string[];
}

const INCLUDE = /^(?:-r|--requirement|-c|--constraint)(?:\s*=?\s*)(\S+)$/;
/** Requirement for a folder, as `-e .`, `./lib` or `--editable ./lib[extra]`. */
const LOCAL_FOLDER = /^(?:(?:-e|--editable)[\s=]+)?(\.{1,2}(?:\/[^\s[;]*)?)(?:\[[^\]]*\])?$/;
const MAX_INCLUDES = 100;

/** Lines of pip: one may continue after a backslash, and text after ` #` is a comment. */
function linesOf(text: string): readonly string[] {
  return text
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

/**
 * Reads a requirements file and the files that it includes.
 * @param builds true when packages may be built from sources
 * @throws TerminalError for packages that cannot be installed
 */
function readRequirements(image: string, file: string, builds: boolean): Requirements {
  const [lines, constraints, folders]: [string[], string[], string[]] = [[], [], []];
  let includes = 0;
  const read = (path: string, isConstraint: boolean): void => {
    if (path.startsWith('..') || path.startsWith('/'))
      throw refused(
        `${file}: it includes ${path}, which is outside the agent's folder; move it into the folder`,
      );
    if (!existsSync(join(image, path))) throw refused(`${file}: it includes ${path}, which does not exist`);
    if (++includes > MAX_INCLUDES) throw refused(`${file}: it includes more than ${MAX_INCLUDES} files`);
    for (const line of linesOf(readFileSync(join(image, path), 'utf8'))) {
      const included = INCLUDE.exec(line)?.[1];
      const folder = LOCAL_FOLDER.exec(line)?.[1];
      if (included !== undefined) {
        const next = normalize(join(dirname(path), included));
        read(next, isConstraint || /^(-c|--constraint)/.test(line));
      } else if (folder !== undefined && !folder.endsWith('.whl')) {
        folders.push(normalize(join(dirname(path), folder)));
      } else {
        requireWheels(image, path, line, builds);
        (isConstraint ? constraints : lines).push(line);
      }
    }
  };
  read(normalize(file), false);
  return { lines, constraints, folders };
}

/** Packages to install for an agent. */
export interface PythonPackages {
  /** Every package with its version and hashes, installed first and as they are. */
  readonly locked: readonly string[];
  /** Resolved when they are installed. */
  readonly open: readonly string[];
  readonly constraints: readonly string[];
}

/** Packages of an agent, and remarks about them. */
export interface FoundPackages extends PythonPackages {
  readonly notes: readonly string[];
  /** Ranges of Python that the lists allow. */
  readonly ranges: readonly string[];
}

/** Reason of an error: a list is for other versions of Python. */
export const OTHER_PYTHON = 'PythonOutOfRange';

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
  readonly python: string | null;
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
  const found = JSON.parse(stdout) as Listed | { readonly refused: string; readonly isPython?: true };
  if ('refused' in found)
    throw found.isPython ? new TerminalError(OTHER_PYTHON, found.refused) : refused(found.refused);
  return found;
}

/** The name that a requirement begins with, as indexes compare it. */
function nameOf(line: string): string {
  return (/^[A-Za-z0-9][A-Za-z0-9._-]*/.exec(line)?.[0] ?? '').replaceAll(/[-_.]+/g, '-').toLowerCase();
}

/**
 * Reads the packages that `dependencies` of `langgraph.json` asks for. A folder adds the packages that it
 * lists; its code is imported from its place, and that of the folders of its lock with it. LangGraph itself is added where
 * it is not named, and what the agent server replaces is left out.
 * @param reader an interpreter that has pip
 * @throws TerminalError for packages that cannot be installed
 */
export async function pythonPackages(
  image: string,
  { folders, packages }: PythonSettings,
  { python, reader, builds }: { readonly python: Python; readonly reader: Python; readonly builds: boolean },
): Promise<FoundPackages> {
  const [locked, open, constraints]: [string[], string[], string[]] = [[], [...packages], []];
  const [left, ranges]: [string[], string[]] = [[], []];
  const kept = (lines: readonly string[]): readonly string[] =>
    lines.filter((line) => {
      const name = nameOf(line);
      if (isReplaced(name)) left.push(name);
      return !isReplaced(name);
    });
  for (const line of packages) requireWheels(image, 'langgraph.json: "dependencies"', line, builds);
  const known = new Set(folders.map((folder) => normalize(join(folder, '.'))));
  for (const folder of folders) {
    const list = listOf(image, folder);
    if (!list) continue;
    const found =
      list === 'requirements.txt'
        ? readRequirements(image, join(folder, list), builds)
        : await readList(join(image, folder), list, python, reader);
    const lines = kept(found.lines);
    if ('python' in found && found.python !== null) ranges.push(`${list} (${found.python})`);
    for (const line of lines) requireWheels(image, join(folder, list), line, builds);
    const inner =
      'isLocked' in found ? found.folders.map((one) => normalize(join(folder, one))) : found.folders;
    const isOfLock = 'isLocked' in found && found.isLocked;
    const stranger = inner.find(
      (one) => !known.has(normalize(join(one, '.'))) && !(isOfLock && isInside(image, one)),
    );
    if (stranger !== undefined)
      throw refused(
        `${join(folder, list)} names the folder ${stranger}; add "./${stranger}" to "dependencies" of langgraph.json, so that its code is imported`,
      );
    const hasHashes = lines.some((line) => line.includes(' --hash'));
    (hasHashes ? locked : open).push(...lines);
    if ('constraints' in found) constraints.push(...found.constraints);
  }
  if (![...locked, ...open].some((line) => nameOf(line) === 'langgraph')) open.push('langgraph');
  const note = leftOutNote(left);
  return { locked, open: kept(open), constraints, notes: note === undefined ? [] : [note], ranges };
}

/** A folder of the agent, by its path from there. */
function isInside(image: string, folder: string): boolean {
  const place = normalize(folder);
  return !place.startsWith('..') && !place.startsWith('/') && existsSync(join(image, place));
}
