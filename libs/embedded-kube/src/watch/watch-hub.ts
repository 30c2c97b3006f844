import type { ObjectStore } from '../store/object-store.js';
import type { StoredChange, StoredObject } from '../store/stored-object.js';

/** Limit per object: more than there are ways to show it. */
const MAX_FORMS = 64;
/** A change has two: what an object is, and what it was for the watches whose selections it leaves. */
const MAX_OBJECTS = 2;

/**
 * Texts shared by the watches of a change: a large object takes tens of milliseconds to print, and hundreds
 * of watches want the same text of it. They are kept for one round of the event loop, in which a change is
 * shown to all: a client that keeps asking for new forms, e.g. of other moments, fills no memory.
 */
export class SharedTexts {
  readonly #objects = new Map<StoredObject, Map<string, string>>();

  /** @param form says in all how the object is shown: equal forms are equal texts */
  get(stored: StoredObject, form: string, print: () => string): string {
    const texts = this.#textsOf(stored);
    const known = texts.get(form);
    if (known !== undefined) return known;
    const text = print();
    if (texts.size >= MAX_FORMS) texts.clear();
    texts.set(form, text);
    return text;
  }

  #textsOf(stored: StoredObject): Map<string, string> {
    const known = this.#objects.get(stored);
    if (known) return known;
    if (this.#objects.size === 0) setImmediate(() => this.#objects.clear());
    const [oldest] = this.#objects.keys();
    if (oldest && this.#objects.size >= MAX_OBJECTS) this.#objects.delete(oldest);
    const texts = new Map<string, string>();
    this.#objects.set(stored, texts);
    return texts;
  }
}

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
