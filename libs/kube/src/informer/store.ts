import { keyOf, keyText, type KubeObject, type ObjectKey } from '#lib/resources';

/**
 * Order of two resource versions. They are numbers of up to 64 bits in every API server there is, and comparable by
 * contract since Kubernetes 1.35. Without a zero in front the longer one is the greater, so no BigInt is needed.
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The values under which an object is found in an index; none leaves it out. */
export type Indexer<T> = (object: T) => readonly string[];

/** Change of one object, as seen by a reader that may have missed some: never two things in one. */
export type Change<T> =
  | { readonly kind: 'added'; readonly object: T }
  | { readonly kind: 'changed'; readonly object: T; readonly before: T }
  | { readonly kind: 'deleted'; readonly object: T };

/** Names of the indexes that every store has. */
const NAMESPACE_INDEX = 'namespace';
const OWNER_INDEX = 'owner-uid';

/** Reading side of a store: what reconcilers get. Objects are shared, never change them. */
export interface Reader<T> {
  find(key: ObjectKey): T | undefined;
  /** All, or those of one namespace. */
  list(namespace?: string): T[];
  /** Objects that the indexer put under this value. */
  byIndex(index: string, value: string): T[];
  /** Objects with an owner of this uid. */
  ownedBy(owner: KubeObject): T[];
  readonly size: number;
}

/** Objects of one kind by key, with indexes that are kept up on every change. */
export class Store<T extends KubeObject> implements Reader<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexers = new Map<string, Indexer<T>>();
  /** Keys by value; most values are an owner's with a single object, for which a set would be larger than its key. */
  readonly #indexes = new Map<string, Map<string, string | Set<string>>>();

  constructor() {
    this.addIndex(NAMESPACE_INDEX, ({ metadata }) =>
      metadata.namespace === undefined ? [] : [metadata.namespace],
    );
    this.addIndex(OWNER_INDEX, ({ metadata }) => metadata.ownerReferences?.map(({ uid }) => uid) ?? []);
  }

  get size(): number {
    return this.#objects.size;
  }

  find(key: ObjectKey): T | undefined {
    return this.#objects.get(keyText(key));
  }

  list(namespace?: string): T[] {
    return namespace === undefined ? [...this.#objects.values()] : this.byIndex(NAMESPACE_INDEX, namespace);
  }

  byIndex(index: string, value: string): T[] {
    const values = this.#indexes.get(index);
    if (!values) throw new Error(`index ${index} does not exist; add it before reading it`);
    const found: T[] = [];
    const keys = values.get(value) ?? [];
    for (const key of typeof keys === 'string' ? [keys] : keys) {
      const object = this.#objects.get(key);
      if (object) found.push(object);
    }
    return found;
  }

  ownedBy(owner: KubeObject): T[] {
    return owner.metadata.uid === undefined ? [] : this.byIndex(OWNER_INDEX, owner.metadata.uid);
  }

  /** Keys of everything in the store. */
  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  findByText(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** Adds an index over present and later objects. An indexer that throws leaves the object out. */
  addIndex(name: string, indexer: Indexer<T>): void {
    if (this.#indexers.has(name)) return;
    this.#indexers.set(name, indexer);
    this.#indexes.set(name, new Map());
    for (const [key, object] of this.#objects) this.#enter(name, key, object);
  }

  put(object: T): void {
    const key = keyText(keyOf(object));
    const before = this.#objects.get(key);
    for (const name of this.#indexers.keys()) {
      if (before) this.#leave(name, key, before);
      this.#enter(name, key, object);
    }
    this.#objects.set(key, object);
  }

  remove(key: string): void {
    const before = this.#objects.get(key);
    if (!before) return;
    for (const name of this.#indexers.keys()) this.#leave(name, key, before);
    this.#objects.delete(key);
  }

  #enter(name: string, key: string, object: T): void {
    const index = this.#indexes.get(name);
    for (const value of this.#valuesOf(name, object)) {
      const keys = index?.get(value);
      if (keys === undefined) index?.set(value, key);
      else if (typeof keys === 'string') index?.set(value, new Set([keys, key]));
      else keys.add(key);
    }
  }

  #leave(name: string, key: string, object: T): void {
    const index = this.#indexes.get(name);
    for (const value of this.#valuesOf(name, object)) {
      const keys = index?.get(value);
      if (typeof keys === 'object') keys.delete(key);
      if (keys === key || (typeof keys === 'object' && keys.size === 0)) index?.delete(value);
    }
  }

  /** One object of an unexpected shape must not stop the others from being known. */
  #valuesOf(name: string, object: T): readonly string[] {
    try {
      return this.#indexers.get(name)?.(object) ?? [];
    } catch {
      return [];
    }
  }
}
