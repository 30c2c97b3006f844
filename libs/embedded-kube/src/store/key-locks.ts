/** Lets the holders of one key go one after another; different keys do not wait for each other. */
export class KeyLocks {
  /** Waiters for each key that is held. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /**
   *
   * @param abandoned a caller that still waits for the key is rejected with its reason, and holds no memory
   * any more
   */
  async hold<T>(key: string, work: () => Promise<T>, abandoned?: AbortSignal): Promise<T> {
    const others = this.#waiting.get(key);
    if (others) await turnAmong(others, abandoned);
    else this.#waiting.set(key, new Set());
    try {
      return await work();
    } finally {
      this.#passOn(key);
    }
  }

  #passOn(key: string): void {
    const others = this.#waiting.get(key);
    const [next] = others ?? [];
    if (!others || !next) return void this.#waiting.delete(key);
    others.delete(next);
    next();
  }
}

function turnAmong(others: Set<() => void>, abandoned: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  others.add(resolve);
  abandoned?.addEventListener('abort', () => void (others.delete(resolve) && reject(abandoned.reason)), {
    once: true,
  });
  return promise;
}
