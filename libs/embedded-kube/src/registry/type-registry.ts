import { qualified, type ResourceType, type ServedType } from '#lib/kube-semantics';

/** Verbs of kinds that the server knows by name alone. */
export const ABSENT_VERBS: readonly string[] = ['get', 'list', 'watch'];

/** The verbs every stored resource serves, in the order of discovery. */
export const STORED_VERBS: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

/** Every resource type that is served now: the built-in ones and those of established CustomResourceDefinitions. */
export class TypeRegistry {
  readonly #types = new Map<string, ResourceType>();
  readonly #listeners = new Set<() => void>();
  #generation = 0;

  constructor(types: readonly ResourceType[]) {
    for (const type of types) this.#types.set(qualified(type), type);
  }

  /** Rises with every change: a key for what is computed from all types. */
  get generation(): number {
    return this.#generation;
  }

  list(): readonly ResourceType[] {
    return [...this.#types.values()];
  }

  /** Finds a type by its qualified plural name, `deployments.apps`. */
  find(qualifiedName: string): ResourceType | undefined {
    return this.#types.get(qualifiedName);
  }

  findServed(group: string, version: string, resource: string): ServedType | undefined {
    const type = this.#types.get(qualified({ group, resource }));
    const served = type?.versions.find((each) => each.name === version);
    return type && served ? { type, version: served } : undefined;
  }

  put(type: ResourceType): void {
    this.#types.set(qualified(type), type);
    this.#changed();
  }

  remove(qualifiedName: string): void {
    if (this.#types.delete(qualifiedName)) this.#changed();
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #changed(): void {
    this.#generation++;
    for (const listener of this.#listeners) listener();
  }
}
