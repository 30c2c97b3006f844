/** `namespace/name`; keys of cluster-wide objects are one namespace of their own. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

/** Keys that wait for a worker: namespaces take turns, and the keys of one keep their order of arrival. */
export class WaitingKeys {
  /** Whose turn is next comes first; each key with the time since when it waits. */
  readonly #namespaces = new Map<string, Map<string, number>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The key whose turn it is. */
  get next(): string | undefined {
    for (const keys of this.#namespaces.values()) for (const key of keys.keys()) return key;
    return undefined;
  }

  get oldestSinceMs(): number | undefined {
    let oldest: number | undefined;
    for (const keys of this.#namespaces.values())
      for (const sinceMs of keys.values()) {
        if (oldest === undefined || sinceMs < oldest) oldest = sinceMs;
        break; // the first of a namespace is its oldest
      }
    return oldest;
  }

  /** Nothing for a key that waits already. */
  add(key: string, nowMs: number): void {
    const namespace = namespaceOf(key);
    let keys = this.#namespaces.get(namespace);
    if (!keys) this.#namespaces.set(namespace, (keys = new Map()));
    if (keys.has(key)) return;
    keys.set(key, nowMs);
    this.#size += 1;
  }

  /** Its namespace has had its turn. */
  take(key: string): void {
    const namespace = namespaceOf(key);
    const keys = this.#namespaces.get(namespace);
    if (!keys?.delete(key)) return;
    this.#size -= 1;
    this.#namespaces.delete(namespace);
    if (keys.size > 0) this.#namespaces.set(namespace, keys);
  }

  clear(): void {
    this.#namespaces.clear();
    this.#size = 0;
  }
}
