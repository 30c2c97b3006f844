/** Exponential back-off for each key: `baseMs`, doubled for each failure in a row, at most `maxMs`, ± 10 % of jitter. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  readonly #random: () => number;
  readonly #failures = new Map<string, number>();

  constructor(options: BackoffOptions, random: () => number = Math.random) {
    this.#options = options;
    this.#random = random;
  }

  /** Counts one more failure and says how long to wait. */
  next(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const { baseMs, maxMs } = this.#options;
    // 2 ** 30 would overflow into timers that fire at once
    const delay = Math.min(maxMs, baseMs * 2 ** Math.min(failures, 30));
    return delay * (0.9 + 0.2 * this.#random());
  }

  /** Failures in a row so far. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The key succeeded: the next failure waits `baseMs` again. */
  forget(key: string): void {
    this.#failures.delete(key);
  }
}
