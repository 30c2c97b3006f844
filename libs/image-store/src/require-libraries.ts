import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { TerminalError } from '#lib/errors';
import { describeOldLibrary, type GraphConfiguration, LIBRARY_FLOORS } from '#lib/graph-configuration';
import { isJsonObject, parseJson } from '#lib/json';
import { readSmallFile } from './read-small-file.js';

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
  const versions = python
    ? pythonVersions(folder)
    : graphs.map(({ file }) => nodeVersion(resolve(folder, file), root));
  for (const version of versions) {
    const reason = version && describeOldLibrary(python ? 'python' : 'javascript', version);
    if (reason) throw new TerminalError('LibraryTooOld', reason);
  }
}

/** The version that a file of an agent imports. */
function nodeVersion(file: string, root: string): string | undefined {
  const { name } = LIBRARY_FLOORS.javascript;
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
function pythonVersions(folder: string): readonly string[] {
  const distribution = `${LIBRARY_FLOORS.python.name.replaceAll('-', '_')}-`;
  const lib = join(folder, '.venv', 'lib');
  if (!existsSync(lib)) return [];
  const places = readdirSync(lib).map((name) => join(lib, name, 'site-packages'));
  return places
    .filter((place) => existsSync(place))
    .flatMap((place) => readdirSync(place))
    .filter((name) => name.startsWith(distribution) && name.endsWith('.dist-info'))
    .map((name) => name.slice(distribution.length, -'.dist-info'.length));
}
