import { Backoff, type BackoffOptions, type Clock } from '#lib/time';

/** A back-off for each key that failed last. */
export class KeyBackoff {
  readonly #clock: Clock;
  readonly #options: BackoffOptions;
  readonly #ofKey = new Map<string, Backoff>();

  constructor(clock: Clock, options: BackoffOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Counts one more failure and answers how long to wait. */
  nextMs(key: string): number {
    const backoff = this.#ofKey.get(key) ?? new Backoff(this.#clock, this.#options);
    this.#ofKey.set(key, backoff);
    return backoff.nextMs();
  }

  /** Failures in a row so far. */
  failures(key: string): number {
    return this.#ofKey.get(key)?.failures ?? 0;
  }

  /** The key succeeded: its next failure waits for the first pause again. */
  forget(key: string): void {
    this.#ofKey.delete(key);
  }
}
