/** `namespace/name`; keys of cluster-wide objects are one namespace of their own. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

/**
 * Urgent keys in a row while others of their namespace wait: without a limit the others would never be
 * served.
 */
const URGENT_IN_ROW = 4;

/** Keys of one namespace, each with the time since when it waits: urgent ones first, each kind in order of arrival. */
class NamespaceKeys {
  readonly #urgent = new Map<string, number>();
  readonly #others = new Map<string, number>();
  #inRow = 0;

  get size(): number {
    return this.#urgent.size + this.#others.size;
  }

  get next(): string | undefined {
    const isUrgentNext = this.#urgent.size > 0 && (this.#others.size === 0 || this.#inRow < URGENT_IN_ROW);
    for (const key of (isUrgentNext ? this.#urgent : this.#others).keys()) return key;
    return undefined;
  }

  get oldestSinceMs(): number {
    // the first of each kind is its oldest
    const firsts = [this.#urgent, this.#others].map((keys) => keys.values().next().value ?? Infinity);
    return Math.min(...firsts);
  }

  /** @returns false for a key that waits already, which may become urgent */
  add(key: string, nowMs: number, isUrgent: boolean): boolean {
    if (this.#urgent.has(key)) return false;
    const since = this.#others.get(key);
    if (since !== undefined && !isUrgent) return false;
    this.#others.delete(key);
    (isUrgent ? this.#urgent : this.#others).set(key, since ?? nowMs);
    return since === undefined;
  }

  take(key: string): boolean {
    if (this.#urgent.delete(key)) this.#inRow += 1;
    else if (this.#others.delete(key)) this.#inRow = 0;
    else return false;
    return true;
  }
}

/** Keys that wait for a worker: namespaces are served in rotation, and within one urgent keys come first. */
export class WaitingKeys {
  /** The namespace to be served next comes first. */
  readonly #namespaces = new Map<string, NamespaceKeys>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The key to be served next. */
  get next(): string | undefined {
    for (const keys of this.#namespaces.values()) return keys.next;
    return undefined;
  }

  get oldestSinceMs(): number | undefined {
    let oldest: number | undefined;
    for (const { oldestSinceMs } of this.#namespaces.values())
      if (oldest === undefined || oldestSinceMs < oldest) oldest = oldestSinceMs;
    return oldest;
  }

  /** A key that waits already keeps its place, unless it has become urgent. */
  add(key: string, nowMs: number, isUrgent = false): void {
    const namespace = namespaceOf(key);
    let keys = this.#namespaces.get(namespace);
    if (!keys) this.#namespaces.set(namespace, (keys = new NamespaceKeys()));
    if (keys.add(key, nowMs, isUrgent)) this.#size += 1;
  }

  /**
   * Removes a key and moves its namespace to the end of the rotation. @returns true when the key was waiting
   */
  take(key: string): boolean {
    const namespace = namespaceOf(key);
    const keys = this.#namespaces.get(namespace);
    if (!keys?.take(key)) return false;
    this.#size -= 1;
    this.#namespaces.delete(namespace);
    if (keys.size > 0) this.#namespaces.set(namespace, keys);
    return true;
  }

  clear(): void {
    this.#namespaces.clear();
    this.#size = 0;
  }
}
