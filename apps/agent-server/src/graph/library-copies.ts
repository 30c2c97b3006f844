import { readFile, realpath } from 'node:fs/promises';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isJsonObject, type JsonObject } from '#lib/json';
import { sharedModule } from './shared-engine.js';

function importTarget(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry;
  if (typeof entry !== 'object' || entry === null) return undefined;
  for (const condition of ['node', 'import', 'default'])
    if (condition in entry) {
      const found = importTarget(Reflect.get(entry, condition));
      if (found !== undefined) return found;
    }
  return undefined;
}

/**
 * Imports an ES module of a package as the agent's own files would get it, which may be another copy than the
 * server's. (`createRequire` would find the CommonJS twin: other classes.)
 * @returns undefined when the agent has no such package or the package no such entry
 */
export async function importOfAgent(
  agentFile: string,
  packageName: string,
  entry = '.',
): Promise<JsonObject | undefined> {
  let manifestPath: string | undefined;
  try {
    manifestPath = findPackageJSON(packageName, pathToFileURL(agentFile));
  } catch {
    return undefined; // not installed
  }
  if (manifestPath === undefined) return undefined;
  const manifest: unknown = JSON.parse(await readFile(manifestPath, 'utf8'));
  const exported = isJsonObject(manifest) ? manifest['exports'] : undefined;
  const target = isJsonObject(exported) ? importTarget(exported[entry]) : undefined;
  if (target === undefined) return undefined;
  const module: unknown = await import(pathToFileURL(join(dirname(manifestPath), target)).href);
  return isJsonObject(module) ? module : undefined;
}

const LANGGRAPH = '@langchain/langgraph';

/** File from which the library is imported when a package manager keeps the packages of packages apart. */
async function libraryOf(agentFile: string): Promise<string | undefined> {
  try {
    const manifest = findPackageJSON(LANGGRAPH, pathToFileURL(agentFile));
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
async function libraryCopies(agentFile: string, packageName: string, entry = '.'): Promise<unknown[]> {
  const copies: unknown[] = [];
  for (const file of [agentFile, await libraryOf(agentFile)]) {
    if (file === undefined) continue;
    copies.push(await importOfAgent(file, packageName, entry));
    copies.push(loadedTwin(file, `${packageName}${entry.slice(1)}`));
  }
  return copies;
}

/** Handler that turns tokens of models into chunks of a stream. */
const TOKEN_HANDLER = 'StreamMessagesHandler';

interface Handler {
  readonly name?: unknown;
  awaitHandlers?: unknown;
}

type AddHandler = (this: unknown, handler: Handler, ...rest: unknown[]) => unknown;

function isAddHandler(value: unknown): value is AddHandler {
  return typeof value === 'function';
}

const overridden = new WeakSet<object>();

function overrideManager(module: unknown): void {
  const manager: unknown = isJsonObject(module) ? module['CallbackManager'] : undefined;
  const prototype: unknown = typeof manager === 'function' ? manager.prototype : undefined;
  if (typeof prototype !== 'object' || prototype === null || overridden.has(prototype)) return;
  const original: unknown = Reflect.get(prototype, 'addHandler');
  if (!isAddHandler(original)) return;
  overridden.add(prototype);
  const addHandler: AddHandler = function (handler, ...rest) {
    if (handler.name === TOKEN_HANDLER) handler.awaitHandlers = true;
    return original.call(this, handler, ...rest);
  };
  Reflect.set(prototype, 'addHandler', addHandler);
}

/**
 * Lets a model continue only once its token is in the stream. By default the library puts tokens into one
 * queue of the process, from which they are streamed one at a time; a graph does not wait for it at its end,
 * and tokens still in the queue are lost: with eight runs at once of a model that answers without pauses,
 * most tokens are. (The handler of its newer protocol waits, and so did its old default;
 * `LANGCHAIN_CALLBACKS_BACKGROUND=false` would also hold each run until its trace was sent.)
 * @param agentFile a file of the agent, whose copy of the library is meant
 */
export async function awaitTokens(agentFile: string): Promise<void> {
  for (const module of await libraryCopies(agentFile, '@langchain/core', './callbacks/manager'))
    overrideManager(module);
}

const CHECKPOINT_PACKAGE = '@langchain/langgraph-checkpoint';

/** Methods of a store, which its wrapper only hands on. */
const CALLS = ['get', 'put', 'delete', 'search', 'listNamespaces'];

/** Stores that are called directly. */
const direct = new WeakSet<object>();

/** Wrapper of a store for one run. */
interface Wrapper {
  store?: unknown;
  running?: boolean;
}

type Method = (this: Wrapper, ...given: unknown[]) => unknown;

function isMethod(value: unknown): value is Method {
  return typeof value === 'function';
}

function directStoreOf({ store }: Wrapper): object | undefined {
  return typeof store === 'object' && store !== null && direct.has(store) ? store : undefined;
}

function override(
  prototype: object,
  name: string,
  ours: (store: object, wrapper: Wrapper, given: unknown[]) => unknown,
) {
  const original: unknown = Reflect.get(prototype, name);
  if (!isMethod(original)) return;
  const method: Method = function (...given) {
    const store = directStoreOf(this);
    return store === undefined ? original.apply(this, given) : ours(store, this, given);
  };
  Reflect.set(prototype, name, method);
}

function overrideWrapper(module: unknown): void {
  const wrapper: unknown = isJsonObject(module) ? module['AsyncBatchedStore'] : undefined;
  const prototype: unknown = typeof wrapper === 'function' ? wrapper.prototype : undefined;
  // another version of the library may be made otherwise
  if (typeof prototype !== 'object' || prototype === null || overridden.has(prototype)) return;
  if (!isMethod(Reflect.get(prototype, 'processBatchQueue'))) return;
  overridden.add(prototype);
  for (const name of CALLS)
    override(prototype, name, (store, _wrapper, given) => {
      const method: unknown = Reflect.get(store, name);
      return isMethod(method) ? method.apply(store, given) : undefined;
    });
  override(prototype, 'start', (_store, wrapper) => {
    wrapper.running = true;
  });
  override(prototype, 'stop', async (_store, wrapper) => {
    wrapper.running = false;
  });
}

/**
 * Lets graphs call a store itself where the library would put `AsyncBatchedStore` between: that one looks for calls
 * every millisecond as long as a run lasts (7 % of a core, and a millisecond at the end of each run), drops `index` of a
 * put, cannot list namespaces, and fails every call of a batch when one fails. Stores that agents make stay wrapped.
 * @param agentFile a file of the agent, whose copy of the library is meant
 */
export async function callStoreDirectly(agentFile: string, store: object): Promise<void> {
  direct.add(store);
  for (const module of await libraryCopies(agentFile, CHECKPOINT_PACKAGE)) overrideWrapper(module);
}
