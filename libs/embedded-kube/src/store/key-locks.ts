/** Lets the holders of one key go one after another; different keys do not wait for each other. */
export class KeyLocks {
  readonly #tails = new Map<string, Promise<void>>();

  async hold<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tails.set(key, promise);
    if (before) await before;
    try {
      return await work();
    } finally {
      if (this.#tails.get(key) === promise) this.#tails.delete(key);
      resolve();
    }
  }
}
