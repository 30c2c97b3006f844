import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';

/**
 * Source that an address counts as: an address of IPv4, also when it came mapped, and the first 64 bits of
 * one of IPv6, since every customer has that many addresses.
 */
export function sourceOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1] !== undefined) return mapped[1];
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = (address.split('%', 1)[0] ?? '').split('::', 2);
  const first = head === '' ? [] : head.split(':');
  const last = tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  const groups = address.includes('::') ? [...first, ...zeros, ...last] : first;
  return `${groups.slice(0, 4).join(':').toLowerCase()}::/64`;
}

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
  readonly #buckets = new Map<string, Bucket>();

  constructor(private readonly options: TokenBucketOptions) {}

  /** Takes a token; false when the bucket is empty. */
  take(name: string): boolean {
    const bucket = this.#touch(name);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  giveBack(name: string): void {
    const bucket = this.#touch(name);
    bucket.tokens = Math.min(this.options.capacity, bucket.tokens + 1);
  }

  secondsUntilNext(name: string): number {
    return Math.max(0, (1 - this.#touch(name).tokens) / this.options.perSecond);
  }

  #touch(name: string): Bucket {
    const { capacity, perSecond, most, clock } = this.options;
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

/** Keys that were good lately, by hash; the longest unused are forgotten. */
const MAX_GOOD = 10_000;
const GOOD_MS = 3_600_000;
/** Sources and public parts of keys that are counted; the longest unseen are forgotten. */
const MAX_COUNTED = 10_000;
/** `apk_` and the public part. */
const PUBLIC_PART = /^[a-z]+_[0-9A-Za-z]{1,64}(?=_)/;

export interface WrongKeysOptions {
  /** Wrong keys from one address, or with one public part, that are judged in a minute. */
  readonly perMinute: number;
  /** Unknown keys that are looked up in a second all the same: one of them may be right. */
  readonly chancesPerSecond: number;
  /** Name of such a key in messages; API key by default. */
  readonly called?: string;
  readonly clock: Clock;
}

/** One key that is being judged. */
export interface KeyAttempt {
  /** The key is valid. */
  good(): void;
  /** The key is not. @returns what to throw: the error given, or `too_many` */
  wrong(error: PublicError): PublicError;
}

/**
 * Rate limiter for wrong keys: a bucket for each source address, and one for each public part of a key.
 *
 * Recently valid keys are always checked, and so is a key whose public part is not being guessed at, so that
 * callers who share an address with a guesser (a NAT, a proxy, one machine) are not harmed: a look-up costs
 * less than a refusal protects, and 190 random bits are not guessed. Keys without a public part share the
 * remaining look-ups. Memory is bounded.
 */
export class WrongKeys {
  readonly #clock: Clock;
  readonly #called: string;
  readonly #good = new Map<string, number>();
  readonly #counted: TokenBuckets;
  readonly #chances: TokenBuckets;

  constructor({ perMinute, chancesPerSecond, called = 'API key', clock }: WrongKeysOptions) {
    this.#clock = clock;
    this.#called = called;
    this.#counted = new TokenBuckets({
      capacity: perMinute,
      perSecond: perMinute / 60,
      most: MAX_COUNTED,
      clock,
    });
    this.#chances = new TokenBuckets({
      capacity: chancesPerSecond,
      perSecond: chancesPerSecond,
      most: 1,
      clock,
    });
  }

  /**
   * Begins an attempt, before a key is looked up.
   * @param address of the connection; undefined when it is closed already
   * @throws PublicError too_many when no more unknown keys are looked up for now
   */
  begin(address: string | undefined, key: string): KeyAttempt {
    const hash = createHash('sha256').update(key).digest('base64');
    const [part] = PUBLIC_PART.exec(key) ?? [];
    const names = [`from ${sourceOf(address)}`, ...(part === undefined ? [] : [`key ${part}`])];
    const isKnown = this.#isGood(hash);
    const taken = names.filter((name) => this.#counted.take(name));
    const isWithin = taken.length === names.length;
    const isUnguessed = part !== undefined && taken.includes(`key ${part}`);
    if (!isWithin && !isKnown && !isUnguessed && !this.#chances.take('')) throw this.#tooMany(names);
    return {
      good: () => {
        for (const name of taken) this.#counted.giveBack(name);
        this.#remember(hash);
      },
      wrong: (error) => {
        this.#good.delete(hash);
        return isWithin ? error : this.#tooMany(names);
      },
    };
  }

  #isGood(hash: string): boolean {
    const since = this.#good.get(hash);
    return since !== undefined && this.#clock.monotonicMs() - since < GOOD_MS;
  }

  #remember(hash: string): void {
    this.#good.delete(hash);
    this.#good.set(hash, this.#clock.monotonicMs());
    const [oldest] = this.#good.keys();
    if (this.#good.size > MAX_GOOD && oldest !== undefined) this.#good.delete(oldest);
  }

  #tooMany(names: readonly string[]): PublicError {
    const seconds = Math.max(...names.map((name) => this.#counted.secondsUntilNext(name)));
    return new PublicError(
      'too_many',
      `Too many wrong ${this.#called}s; correct the ${this.#called} and retry later`,
      [],
      {
        retryAfterSeconds: Math.max(1, Math.ceil(seconds)),
      },
    );
  }
}
