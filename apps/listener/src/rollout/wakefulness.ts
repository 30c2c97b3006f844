/** Passes over a deploying revision are 20 seconds apart at most. */
const GAP_MS = 60_000;

/**
 * Since when this program has been awake. After a machine slept, or a process was stopped, deadlines have passed in which
 * nothing could run; a revision must not fail for that, since its failure is final.
 */
export class Wakefulness {
  #lookedAtMs: number | undefined;
  #sinceMs = 0;

  /** Called in every pass; returns the time, in milliseconds, from which deadlines count. */
  look(now: Date): number {
    const nowMs = now.getTime();
    if (this.#lookedAtMs !== undefined && nowMs - this.#lookedAtMs > GAP_MS) this.#sinceMs = nowMs;
    this.#lookedAtMs = nowMs;
    return this.#sinceMs;
  }
}
