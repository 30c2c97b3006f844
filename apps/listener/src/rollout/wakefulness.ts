/** Passes over a revision on its way up come every 20 seconds at least. */
const GAP_MS = 60_000;

/**
 * Since when this program has been awake. A machine whose lid was closed, or a process that was stopped, finds deadlines
 * passed in which nothing could run; a revision must not fail of that, since its failure is final.
 */
export class Wakefulness {
  #lookedAtMs: number | undefined;
  #sinceMs = 0;

  /** Called in every pass; answers the time, in milliseconds, before which nothing is held against anybody. */
  look(now: Date): number {
    const nowMs = now.getTime();
    if (this.#lookedAtMs !== undefined && nowMs - this.#lookedAtMs > GAP_MS) this.#sinceMs = nowMs;
    this.#lookedAtMs = nowMs;
    return this.#sinceMs;
  }
}
