/** Runs what is asked for one key in the order in which it was asked, each after the end of the one before. */
export class OneAtATime {
  readonly #tails = new Map<string, Promise<void>>();

  do<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#tails.get(key) ?? Promise.resolve()).then(work);
    const tail = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    return mine;
  }
}
