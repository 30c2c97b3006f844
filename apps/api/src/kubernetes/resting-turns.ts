import type { Clock } from '#lib/time';

/** Pause after each read, as a multiple of its duration; caps one owner at 10 % of the time. */
const REST = 9;
const LONGEST_REST_MS = 60_000;
/** Pause after work that failed: it took the time of a server that does not answer, and not ours. */
const FAILED_REST_MS = 2_000;

/**
 * Serialises costly reads of the Kubernetes API per owner, each followed by a pause in proportion to its
 * cost. The cost of such a read depends on the users who may write objects in the namespace; the thread that
 * parses it serves all tenants.
 */
export class RestingTurns {
  readonly #last = new Map<string, Promise<void>>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs' | 'after'>) {}

  /** @throws errors of `work`, or the reason with which `signal` was aborted before its turn */
  async take<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(owner);
    const rested = Promise.withResolvers<void>();
    this.#last.set(owner, rested.promise);
    await before;
    const beganMs = this.clock.monotonicMs();
    let longestMs = FAILED_REST_MS;
    try {
      signal?.throwIfAborted();
      const result = await work();
      longestMs = LONGEST_REST_MS;
      return result;
    } finally {
      const restMs = Math.min(REST * (this.clock.monotonicMs() - beganMs), longestMs);
      this.clock.after(restMs, () => {
        if (this.#last.get(owner) === rested.promise) this.#last.delete(owner);
        rested.resolve();
      });
    }
  }
}
