import { isJsonObject } from '#lib/json';
import { libraryCopies } from './library-copies.js';

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

const overridden = new WeakSet<object>();

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
