import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { TerminalError } from '#lib/errors';
import {
  describeOldLibrary,
  type GraphConfiguration,
  isModuleName,
  isOlder,
  LIBRARY_FLOORS,
  type LibraryFloor,
  parseGraphConfiguration,
} from '#lib/graph-configuration';
import { isJsonObject, parseJson } from '#lib/json';
import { IMAGE_NAME } from './image-entries.js';

const MAX_BYTES = 1_048_576;

/**
 * The text of a file of 1 MiB at most. Files of a repository are parsed in the process of the platform, where
 * a parsed text takes many times its size.
 * @param reason of the error
 * @throws TerminalError for a larger one
 */
export function readSmallFile(path: string, reason: string): string {
  requireSmall(path, reason);
  return readFileSync(path, 'utf8');
}

/** @throws TerminalError when the file has more than 1 MiB */
export function requireSmall(path: string, reason: string): void {
  const { size } = statSync(path);
  if (size > MAX_BYTES)
    throw new TerminalError(
      reason,
      `${basename(path)} has ${size} bytes; ${MAX_BYTES} are the most that are read`,
    );
}

/**
 * The configuration of a folder that can be an image of that name.
 * @throws TerminalError naming the fault of the name or the folder
 */
export function requireImportable(name: string, source: string): GraphConfiguration {
  if (!IMAGE_NAME.test(name))
    throw new TerminalError(
      'ImageNameInvalid',
      `${JSON.stringify(name)} cannot be the name of an image: use a-z, 0-9, ".", "_" and "-", at most 63`,
    );
  if (!statSync(source, { throwIfNoEntry: false })?.isDirectory())
    throw new TerminalError('FolderNotFound', `${source} is not a folder`);
  const configuration = join(source, 'langgraph.json');
  if (!existsSync(configuration))
    throw new TerminalError('NotAnAgent', `${source} has no langgraph.json; an agent's folder needs one`);
  const read = parseGraphConfiguration(readSmallFile(configuration, 'NotAnAgent'), ['javascript', 'python']);
  const { graphs, auth, http, ui } = read;
  const named = graphs.map(({ graphId, file }) => ({ what: `graph "${graphId}"`, file }));
  const others = [
    ...(auth ? [{ what: '"auth.path"', file: auth.file }] : []),
    ...(http.app ? [{ what: '"http.app"', file: http.app.file }] : []),
    ...ui.entries.map(({ name, file }) => ({ what: `"ui": ${name}`, file })),
  ];
  for (const { what, file } of [...named, ...others])
    if (!isModuleName(file) && !existsSync(join(source, file)))
      throw new TerminalError('NotAnAgent', `langgraph.json: ${what}: ${file} does not exist`);
  return read;
}

/**
 * Refuses libraries whose graphs the agent server cannot run. Missing ones are not judged.
 * @param folder an agent with its packages
 * @param root where the search for packages of JavaScript ends
 * @throws TerminalError with the version found and the oldest that will do
 */
export function requireLibraries(
  { python, graphs }: Pick<GraphConfiguration, 'python' | 'graphs'>,
  folder: string,
  root = folder,
): void {
  for (const floor of LIBRARY_FLOORS[python ? 'python' : 'javascript']) {
    const versions = python
      ? pythonVersions(floor, folder)
      : graphs.map(({ file }) => nodeVersion(floor, resolve(folder, file), root));
    for (const version of versions) {
      const reason = version && describeOldLibrary(floor, version);
      if (reason) throw new TerminalError('LibraryTooOld', reason);
    }
  }
}

/** A line for each library whose version matters: the one of the agent, and those that were tried. */
export function describeLibraries(folder: string): readonly string[] {
  const { python, graphs } = parseGraphConfiguration(
    readSmallFile(join(folder, 'langgraph.json'), 'NotAnAgent'),
    ['javascript', 'python'],
  );
  return LIBRARY_FLOORS[python ? 'python' : 'javascript'].flatMap((floor) => {
    const versions = python
      ? pythonVersions(floor, folder)
      : graphs.flatMap(({ file }) => nodeVersion(floor, resolve(folder, file), folder) ?? []);
    const { name, oldest, newest } = floor;
    return [...new Set(versions)].map((version) => {
      const isNew = isOlder(newest, version) ? '; newer ones were not tried' : '';
      return `${name} ${version} (tried: ${oldest} to ${newest}${isNew})`;
    });
  });
}

/** The version that a file of an agent imports. */
function nodeVersion({ name }: LibraryFloor, file: string, root: string): string | undefined {
  for (let folder = dirname(file); folder.length >= root.length; folder = dirname(folder)) {
    const manifest = join(folder, 'node_modules', name, 'package.json');
    if (existsSync(manifest)) {
      const read: unknown = parseJson(readSmallFile(manifest, 'NotAnAgent'));
      return isJsonObject(read) ? String(read['version']) : undefined;
    }
    if (folder === dirname(folder)) break;
  }
  return undefined;
}

/** The versions that the environment of an agent names. */
function pythonVersions({ name }: LibraryFloor, folder: string): readonly string[] {
  const distribution = `${name.replaceAll('-', '_')}-`;
  const lib = join(folder, '.venv', 'lib');
  if (!existsSync(lib)) return [];
  const places = readdirSync(lib).map((name) => join(lib, name, 'site-packages'));
  return places
    .filter((place) => existsSync(place))
    .flatMap((place) => readdirSync(place))
    .filter((entry) => entry.startsWith(distribution) && entry.endsWith('.dist-info'))
    .map((entry) => entry.slice(distribution.length, -'.dist-info'.length));
}
