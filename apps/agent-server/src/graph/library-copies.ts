import { readFile, realpath } from 'node:fs/promises';
import { createRequire, findPackageJSON } from 'node:module';
import { pathToFileURL } from 'node:url';
import { LIBRARY_FLOORS } from '#lib/graph-configuration';
import { isJsonObject } from '#lib/json';
import { importOfAgent } from './agent-package.js';
import { sharedModule } from './shared-engine.js';

/** File from which the library is imported when a package manager keeps the packages of packages apart. */
async function libraryOf(agentFile: string): Promise<string | undefined> {
  try {
    const manifest = findPackageJSON(LIBRARY_FLOORS.javascript.name, pathToFileURL(agentFile));
    return manifest === undefined ? undefined : await realpath(manifest);
  } catch {
    return undefined; // not installed
  }
}

/** The version of LangGraph that an agent imports; undefined when it has none. */
export async function libraryVersion(agentFile: string): Promise<string | undefined> {
  const manifest = await libraryOf(agentFile);
  const read: unknown = manifest === undefined ? undefined : JSON.parse(await readFile(manifest, 'utf8'));
  return isJsonObject(read) ? String(read['version']) : undefined;
}

/** The CommonJS twin of a module, when the agent has loaded it. */
function loadedTwin(file: string, module: string): unknown {
  const require = createRequire(file);
  try {
    return require.cache[sharedModule(require.resolve(module))]?.exports;
  } catch {
    return undefined;
  }
}

/**
 * A module of LangChain in every copy that an agent may run: its own and the one of its LangGraph, as ES module and as
 * CommonJS module.
 * @param agentFile a file of the agent
 * @param entry of the package, `./callbacks/manager`
 */
export async function libraryCopies(agentFile: string, packageName: string, entry = '.'): Promise<unknown[]> {
  const copies: unknown[] = [];
  for (const file of [agentFile, await libraryOf(agentFile)]) {
    if (file === undefined) continue;
    copies.push(await importOfAgent(file, packageName, entry));
    copies.push(loadedTwin(file, `${packageName}${entry.slice(1)}`));
  }
  return copies;
}
