import type { KubeObject, OwnerReference, ResourceRef } from '#lib/resources';

/** An object in the graph: its metadata and its kind. */
export interface GraphItem {
  readonly ref: ResourceRef;
  readonly object: KubeObject;
}

/** Owners and dependents, by uid, over all kinds. */
export class OwnershipGraph {
  readonly #items = new Map<string, GraphItem>();
  readonly #dependents = new Map<string, Set<string>>();

  find(uid: string): GraphItem | undefined {
    return this.#items.get(uid);
  }

  /**
   * Dependents in the owner's namespace, where it has one: an object elsewhere could only claim to be its
   * dependent.
   */
  dependentsOf(uid: string): GraphItem[] {
    const owner = this.#items.get(uid);
    const named = [...(this.#dependents.get(uid) ?? [])].flatMap(
      (dependent) => this.#items.get(dependent) ?? [],
    );
    return owner ? named.filter((dependent) => isSameScope(dependent, owner)) : named;
  }

  /** Dependents that keep a foreground deletion of this owner waiting. */
  blockersOf(uid: string): GraphItem[] {
    return this.dependentsOf(uid).filter(({ object }) =>
      ownersOf(object).some((owner) => owner.uid === uid && owner.blockOwnerDeletion),
    );
  }

  put(item: GraphItem): void {
    const uid = item.object.metadata.uid ?? '';
    this.#disconnect(uid);
    this.#items.set(uid, item);
    for (const owner of ownersOf(item.object)) {
      const dependents = this.#dependents.get(owner.uid);
      if (dependents) dependents.add(uid);
      else this.#dependents.set(owner.uid, new Set([uid]));
    }
  }

  remove(uid: string): void {
    this.#disconnect(uid);
    this.#items.delete(uid);
  }

  #disconnect(uid: string): void {
    const before = this.#items.get(uid);
    if (!before) return;
    for (const owner of ownersOf(before.object)) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }
}

/** True when the one may own the other, as far as their namespaces go. */
export function isSameScope(item: GraphItem, owner: GraphItem): boolean {
  return !owner.ref.namespaced || owner.object.metadata.namespace === item.object.metadata.namespace;
}

export function ownersOf(object: KubeObject): readonly OwnerReference[] {
  return object.metadata.ownerReferences ?? [];
}
