import type { Clock } from './clock.js';

export interface BackoffOptions {
  /** The first pause, in the middle of its jitter. */
  readonly firstMs: number;
  /** Every pause doubles the one before, up to this, in the middle of its jitter. */
  readonly longestMs: number;
  /** Share of a pause that is left to chance, so that many do not return at once. Default 0.2: ± 10 %. */
  readonly jitter?: number;
  /** Random number from 0 up to 1. */
  readonly random?: () => number;
}

/** One growing pause between the attempts of one loop. */
export class Backoff {
  readonly #clock: Clock;
  readonly #options: Required<BackoffOptions>;
  #failures = 0;

  constructor(clock: Clock, options: BackoffOptions) {
    this.#clock = clock;
    this.#options = { jitter: 0.2, random: Math.random, ...options };
  }

  /** Pauses since the last reset. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts one more failure and answers how long to pause for it. */
  nextMs(): number {
    const { firstMs, longestMs, jitter, random } = this.#options;
    // 2 ** 1024 is infinite, and 0 ms times that is no number
    const ms = Math.min(longestMs, firstMs * 2 ** Math.min(this.#failures, 60));
    this.#failures++;
    return ms * (1 - jitter / 2 + jitter * random());
  }

  /**
   * Takes the next pause.
   * @throws the signal's reason when it is aborted first
   */
  async pause(signal?: AbortSignal): Promise<void> {
    await this.#clock.sleep(this.nextMs(), signal);
  }

  /** The loop made progress: the next pause is the first one again. */
  reset(): void {
    this.#failures = 0;
  }
}
