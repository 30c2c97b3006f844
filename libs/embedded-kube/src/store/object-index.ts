import { CommittedObject, type StoredChange, type StoredObject, TextPacker } from './stored-object.js';

const NOTHING: readonly StoredObject[] = [];

/** The objects of one resource in memory: by namespace and name, listed in the order of their keys. */
class ResourceIndex {
  readonly #namespaces = new Map<string, Map<string, StoredObject>>();
  readonly #packer = new TextPacker();
  readonly #sorted = new Map<string, readonly StoredObject[]>();

  get(namespace: string, name: string): StoredObject | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  put(namespace: string, name: string, object: StoredObject): void {
    let names = this.#namespaces.get(namespace);
    if (!names) this.#namespaces.set(namespace, (names = new Map()));
    names.set(name, object);
    this.#sorted.delete(namespace);
  }

  remove(namespace: string, name: string): void {
    const names = this.#namespaces.get(namespace);
    if (!names?.delete(name)) return;
    if (names.size === 0) this.#namespaces.delete(namespace);
    this.#sorted.delete(namespace);
  }

  /** Packs the objects that were not read since the last call, one after the other. */
  *rest(): Generator {
    for (const names of this.#namespaces.values())
      for (const stored of names.values())
        if (stored instanceof CommittedObject && stored.rest(this.#packer)) yield;
  }

  list(namespace: string | undefined): readonly StoredObject[] {
    if (namespace !== undefined) return this.#listNamespace(namespace);
    return [...this.#namespaces.keys()].sort().flatMap((each) => this.#listNamespace(each));
  }

  #listNamespace(namespace: string): readonly StoredObject[] {
    const known = this.#sorted.get(namespace);
    if (known) return known;
    const names = this.#namespaces.get(namespace);
    if (!names) return NOTHING;
    const order = [...names.entries()].sort(([left], [right]) => (left < right ? -1 : 1));
    const sorted = order.map(([, object]) => object);
    this.#sorted.set(namespace, sorted);
    return sorted;
  }
}

/** All committed objects in memory. Reads never touch the database. */
export class ObjectIndex {
  readonly #resources = new Map<string, ResourceIndex>();

  get(resource: string, namespace: string, name: string): StoredObject | undefined {
    return this.#resources.get(resource)?.get(namespace, name);
  }

  /** Objects in the order of namespace and name; of all namespaces when none is given. */
  list(resource: string, namespace?: string): readonly StoredObject[] {
    return this.#resources.get(resource)?.list(namespace) ?? NOTHING;
  }

  /** Packs all objects that were not read since the last call, one after the other. */
  *rest(): Generator {
    for (const resource of this.#resources.values()) yield* resource.rest();
  }

  apply(change: StoredChange): void {
    if (change.type === 'DELETED') this.#of(change.resource).remove(change.namespace, change.name);
    else this.#of(change.resource).put(change.namespace, change.name, change.after);
  }

  #of(resource: string): ResourceIndex {
    let index = this.#resources.get(resource);
    if (!index) this.#resources.set(resource, (index = new ResourceIndex()));
    return index;
  }
}
