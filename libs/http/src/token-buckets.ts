import type { Clock } from '#lib/time';

interface Bucket {
  tokens: number;
  atMs: number;
}

export interface TokenBucketOptions {
  readonly capacity: number;
  readonly perSecond: number;
  /** Buckets that are remembered; one that was not seen for longest begins full again. */
  readonly most: number;
  readonly clock: Clock;
}

/** Token buckets by name, in bounded memory. */
export class TokenBuckets {
  readonly #options: TokenBucketOptions;
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: TokenBucketOptions) {
    this.#options = options;
  }

  /** Takes a token; false when the bucket is empty. */
  take(name: string): boolean {
    const bucket = this.#touch(name);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  giveBack(name: string): void {
    const bucket = this.#touch(name);
    bucket.tokens = Math.min(this.#options.capacity, bucket.tokens + 1);
  }

  secondsUntilNext(name: string): number {
    return Math.max(0, (1 - this.#touch(name).tokens) / this.#options.perSecond);
  }

  #touch(name: string): Bucket {
    const { capacity, perSecond, most, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const found = this.#buckets.get(name);
    const bucket = found ?? { tokens: capacity, atMs: nowMs };
    bucket.tokens = Math.min(capacity, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * perSecond);
    bucket.atMs = nowMs;
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > most && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket;
  }
}
