/** Who wants to know of new runs of a thread. */
export class ThreadWakes {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Answers a function that ends it. */
  on(threadId: string, wake: () => void): () => void {
    const waiting = this.#waiting.get(threadId) ?? new Set();
    this.#waiting.set(threadId, waiting.add(wake));
    return () => {
      waiting.delete(wake);
      if (waiting.size === 0 && this.#waiting.get(threadId) === waiting) this.#waiting.delete(threadId);
    };
  }

  /** A thread may have a new run; without an id, every thread. */
  wake(threadId: string): void {
    const waiting = threadId === '' ? [...this.#waiting.values()] : [this.#waiting.get(threadId)];
    for (const one of waiting) for (const wake of one ?? []) wake();
  }
}
