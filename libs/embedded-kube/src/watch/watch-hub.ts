import type { ObjectStore } from '../store/object-store.js';
import type { StoredChange } from '../store/stored-object.js';

export type ChangeListener = (change: StoredChange) => void;

/** Hands each committed change to the watches of its resource. */
export class WatchHub {
  readonly #watches = new Map<string, Set<ChangeListener>>();

  constructor(store: ObjectStore) {
    store.subscribe((change) => {
      const listeners = this.#watches.get(change.resource);
      if (listeners) for (const listener of listeners) listener(change);
    });
  }

  /** Watches that are open. */
  get size(): number {
    return [...this.#watches.values()].reduce((sum, listeners) => sum + listeners.size, 0);
  }

  /** Calls back for every change of a resource from now on; the result ends it. */
  subscribe(resource: string, listener: ChangeListener): () => void {
    let listeners = this.#watches.get(resource);
    if (!listeners) this.#watches.set(resource, (listeners = new Set()));
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }
}
