/** Passes over a deploying revision are 20 seconds apart at most. */
const GAP_MS = 60_000;

/** Start of deadlines, in milliseconds of the clock. */
export interface Awake {
  /** No deadline counts from before this time. */
  readonly awakeSinceMs: number;
  /** No deadline passes before this time. */
  readonly graceUntilMs: number;
}

/**
 * Time since which this program has been able to observe. After a machine slept, a process was stopped or the
 * API server was unavailable, deadlines have passed in which nothing could run or be seen; a revision must
 * not fail for that, since its failure is final. A restart extends no deadline, but revisions get a grace to
 * recover from an outage.
 */
export class Wakefulness {
  readonly #graceMs: number;
  #lookedAtMs: number | undefined;
  #sinceMs = 0;
  #graceUntilMs = 0;

  /** @param graceMs from the first look */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /**
   * Called in every pass.
   * @param isBlind true when the API server cannot be followed at present
   */
  look(now: Date, isBlind: boolean): Awake {
    const nowMs = now.getTime();
    if (this.#lookedAtMs === undefined) this.#graceUntilMs = nowMs + this.#graceMs;
    // after a clock was set back, recorded times are in the future
    else if (isBlind || nowMs - this.#lookedAtMs > GAP_MS || nowMs < this.#lookedAtMs) this.#sinceMs = nowMs;
    this.#lookedAtMs = nowMs;
    return { awakeSinceMs: this.#sinceMs, graceUntilMs: this.#graceUntilMs };
  }
}
