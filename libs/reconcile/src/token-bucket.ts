import type { Clock } from '#lib/time';

export interface BucketOptions {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * Limits the rate at which all keys together are retried, so that an outage which fails everything does not
 * become a storm. A reservation never blocks: it returns the milliseconds to wait. Debts are limited to a
 * burst: a key that fails without end delays the others for that long at most.
 */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #options: BucketOptions;
  #tokens: number;
  #at: number;

  constructor(options: BucketOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#tokens = options.burst;
    this.#at = clock.monotonicMs();
  }

  /** Takes a token, on credit if need be, and returns the milliseconds to wait for it. */
  reserve(): number {
    const { perSecond, burst } = this.#options;
    const now = this.#clock.monotonicMs();
    const earned = this.#tokens + ((now - this.#at) / 1000) * perSecond;
    this.#tokens = Math.max(-burst, Math.min(burst, earned) - 1);
    this.#at = now;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000;
  }
}
