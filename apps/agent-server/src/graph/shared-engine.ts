import { readFileSync, realpathSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isJsonObject } from '#lib/json';

/** Modules of the engine that graphs import. */
const MODULES = [
  '@langchain/langgraph',
  '@langchain/langgraph/prebuilt',
  '@langchain/core/messages',
  '@langchain/core/tools',
  '@langchain/core/runnables',
  '@langchain/core/prompts',
  '@langchain/core/language_models/chat_models',
];
const PACKAGES = ['@langchain/langgraph', '@langchain/core'];

let isLoaded = false;
/** Folders of packages of the agent, and of the same packages of the platform. */
let shared: ReadonlyMap<string, string> = new Map();

/** Loads the platform's engine before the graphs that will need it are known. */
export async function loadEngine(): Promise<void> {
  for (const name of MODULES) await import(name);
  await runOnce();
  isLoaded = true;
}

/** Runs a graph of one node, so that V8 has compiled the engine before the first run of an agent. */
async function runOnce(): Promise<void> {
  const { Annotation, END, MemorySaver, START, StateGraph } = await import('@langchain/langgraph');
  const graph = new StateGraph(Annotation.Root({ done: Annotation<boolean> }))
    .addNode('only', () => ({ done: true }))
    .addEdge(START, 'only')
    .addEdge('only', END)
    .compile({ checkpointer: new MemorySaver() });
  const options = {
    streamMode: ['values', 'updates', 'messages', 'custom'],
    configurable: { thread_id: 'once' },
  };
  for await (const _event of await graph.stream({}, options as never));
}

interface Package {
  /** Real path. */
  readonly folder: string;
  readonly id: string;
  readonly needs: readonly string[];
}

/** The package of a name for those who import it from a file; undefined when they have none. */
function findPackage(name: string, from: string): Package | undefined {
  let manifest: string | undefined;
  try {
    manifest = findPackageJSON(name, pathToFileURL(from));
  } catch {
    return undefined; // not installed
  }
  if (manifest === undefined) return undefined;
  const path = realpathSync(manifest);
  const read: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (!isJsonObject(read)) return undefined;
  const { dependencies, peerDependencies } = read;
  const needs = [dependencies, peerDependencies].flatMap((one) =>
    isJsonObject(one) ? Object.keys(one) : [],
  );
  return { folder: dirname(path), id: `${String(read['name'])}@${String(read['version'])}`, needs };
}

/** Pairs packages with all that they need; false when one differs in name or version, or only one side has it. */
function pair(own: Package | undefined, platform: Package | undefined, pairs: Map<string, string>): boolean {
  if (!own || !platform) return own === platform;
  if (own.folder === platform.folder) return true;
  const known = pairs.get(own.folder);
  if (known !== undefined) return known === platform.folder;
  if (own.id !== platform.id) return false;
  pairs.set(own.folder, platform.folder);
  const from = [own.folder, platform.folder].map((folder) => join(folder, 'package.json'));
  const [ofOwn = '', ofPlatform = ''] = from;
  return platform.needs.every((name) => pair(findPackage(name, ofOwn), findPackage(name, ofPlatform), pairs));
}

/**
 * Shares the engine that was loaded before with an agent that has a copy of its own: where each package of it, and each
 * that it needs, has the name and version of the platform's. Otherwise the agent's own copy is loaded, as without this.
 * @param agentFile a file of the agent
 */
export function shareEngine(agentFile: string): void {
  if (!isLoaded) return;
  const pairs = new Map<string, string>();
  const own = (name: string): Package | undefined => findPackage(name, agentFile);
  const isEqual = PACKAGES.every((name) => pair(own(name), findPackage(name, import.meta.filename), pairs));
  shared = isEqual ? pairs : new Map();
}

const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

/** The path or URL of the platform's module in place of the same one of the agent's copy. */
export function sharedModule(place: string): string {
  if (shared.size === 0) return place;
  const folder = PACKAGE_FOLDER.exec(place)?.[0];
  if (folder === undefined) return place;
  const isUrl = folder.startsWith('file:');
  const platform = shared.get(isUrl ? folder.slice('file://'.length) : folder);
  if (platform === undefined) return place;
  return (isUrl ? pathToFileURL(platform).href : platform) + place.slice(folder.length);
}
