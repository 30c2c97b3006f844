import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { type CompiledModule, type CompiledSources, compileSources } from './compile-sources.js';

/** File beside a graph configuration with what `compileSources` made of its files when the agent was taken. */
export const GRAPH_SOURCES_FILE = '.agentplane/graph-sources.json';

/** Goes up when what is made, or how it is used, changes: files of before are no longer read then. */
const FORMAT = 1;

/** Files beside a source, or in a folder above it, that decide what is made of it. */
const SETTINGS = ['package.json', 'tsconfig.json', 'jsconfig.json'];

type Entries<T> = readonly (readonly [string, T])[];

/** Paths are relative to the folder of the graph configuration. */
interface KeptSources {
  readonly format: number;
  /** SHA-256 of each source and each of its settings; empty for settings that are not there. */
  readonly hashes: Entries<string>;
  readonly modules: Entries<CompiledModule>;
  readonly targets: Entries<Entries<string>>;
}

/**
 * Keeps what esbuild makes of an agent's files in its folder: the agent starts without esbuild, as long as no file changes.
 * Nothing is kept where an import leads elsewhere: this process may read files that the agent must not see.
 * @param folder real path of the agent's folder
 * @param files absolute paths of all that is imported by name
 * @param roots real paths of folders beside it that the agent's files may be in
 * @throws TerminalError (`GraphLoadFailed`) when they do not compile
 */
export async function keepSources(
  folder: string,
  files: readonly string[],
  roots: readonly string[] = [],
): Promise<void> {
  const { modules, targets } = await compileSources(folder, files);
  const isInside = (path: string): boolean => [folder, ...roots].some((root) => path.startsWith(root + sep));
  if (![...targets.keys()].every(isInside)) return;
  const within = (path: string): string => relative(folder, path);
  const hashes = pathsOf([...targets.keys()].map(within)).map(
    async (path) => [path, await hashOf(join(folder, path))] as const,
  );
  const kept: KeptSources = {
    format: FORMAT,
    hashes: await Promise.all(hashes),
    modules: [...modules].map(([path, module]) => [within(path), module]),
    targets: [...targets].map(([path, named]) => [
      within(path),
      [...named].map(([specifier, target]) => [specifier, within(target)]),
    ]),
  };
  const path = join(folder, GRAPH_SOURCES_FILE);
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  // every user of a pod reads it
  await writeFile(path, JSON.stringify(kept), { mode: 0o644 });
}

/**
 * Reads what `keepSources` has kept.
 * @param folder real path of the agent's folder
 * @param files absolute paths
 * @returns undefined where nothing is kept of one of the files, or any has changed since
 */
export async function keptSources(
  folder: string,
  files: readonly string[],
): Promise<CompiledSources | undefined> {
  try {
    const text = await readFile(join(folder, GRAPH_SOURCES_FILE), 'utf8');
    const { format, hashes, modules, targets } = JSON.parse(text) as KeptSources;
    if (format !== FORMAT) return undefined;
    const known = new Set(targets.map(([path]) => join(folder, path)));
    if (!files.every((file) => known.has(file))) return undefined;
    const same = hashes.map(async ([path, hash]) => (await hashOf(join(folder, path))) === hash);
    if ((await Promise.all(same)).includes(false)) return undefined;
    return {
      modules: new Map(modules.map(([path, module]) => [join(folder, path), module])),
      targets: new Map(
        targets.map(([path, named]) => [
          join(folder, path),
          new Map(named.map(([specifier, target]) => [specifier, join(folder, target)])),
        ]),
      ),
    };
  } catch {
    // not there, or written by another program: everything is made anew
    return undefined;
  }
}

/** The sources, and where settings of each may be: in its own folder and all above it within the agent's. */
function pathsOf(sources: readonly string[]): readonly string[] {
  const folders = new Set(['']);
  for (const source of sources)
    for (let at = dirname(source); at !== '.' && !at.startsWith('..'); at = dirname(at)) folders.add(at);
  const settings = [...folders].flatMap((at) => SETTINGS.map((name) => join(at, name)));
  return [...new Set([...sources, ...settings])].sort();
}

async function hashOf(path: string): Promise<string> {
  const bytes = await readFile(path).catch(() => undefined);
  return bytes === undefined ? '' : createHash('sha256').update(bytes).digest('hex');
}
