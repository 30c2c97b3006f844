import type { BackoffOptions, Clock } from '#lib/time';
import { KeyBackoff } from './key-backoff.js';
import { TokenBucket, type BucketOptions } from './token-bucket.js';
import { WaitingKeys } from './waiting-keys.js';

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Default: 100 ms doubling to 5 minutes. */
  readonly backoff?: BackoffOptions;
  /** Retries of all keys together. Default: 20 a second after a burst of 100. */
  readonly bucket?: BucketOptions;
  readonly random?: () => number;
  /** Whether a key is served before others of its namespace, though not to the exclusion of them; asked when it is added. */
  readonly isUrgent?: (key: string) => boolean;
}

interface Delayed {
  readonly dueMs: number;
  readonly cancel: () => void;
}

/**
 * A queue of keys. A key is in one of these states:
 *
 * - **waiting**: queued once, however often it is added
 * - **in flight**: handed out by `next` and not finished; at most one worker has it
 * - **in flight, dirty**: added while in flight; waits again as soon as it is finished
 * - **delayed**: to be added at a time; the earliest time wins, and it is dropped when the key is handed out earlier,
 *   because the pass that then runs decides anew
 *
 * Namespaces take turns: whoever has hundreds of keys whose passes are slow (destinations that do not answer) delays
 * others by one pass and not by hundreds. Within a namespace urgent keys come first, four in a row at most.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #backoff: KeyBackoff;
  readonly #bucket: TokenBucket;
  readonly #isUrgent: (key: string) => boolean;
  readonly #waiting = new WaitingKeys();
  readonly #inFlight = new Set<string>();
  readonly #dirty = new Set<string>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #isClosed = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#isUrgent = options.isUrgent ?? (() => false);
    this.#backoff = new KeyBackoff(options.clock, {
      ...(options.backoff ?? { firstMs: 100, longestMs: 300_000 }),
      ...(options.random ? { random: options.random } : {}),
    });
    this.#bucket = new TokenBucket(options.bucket ?? { perSecond: 20, burst: 100 }, options.clock);
  }

  /** Keys that wait for a worker now. */
  get depth(): number {
    return this.#waiting.size + this.#dirty.size;
  }

  /** Milliseconds that the oldest key has waited for a worker, 0 when none waits. */
  get oldestMs(): number {
    const sinceMs = this.#waiting.oldestSinceMs;
    return sinceMs === undefined ? 0 : this.#clock.monotonicMs() - sinceMs;
  }

  /** Keys that will be added later. */
  get delayed(): number {
    return this.#delayed.size;
  }

  add(key: string): void {
    if (this.#isClosed) return;
    if (this.#inFlight.has(key)) {
      this.#dirty.add(key);
      return;
    }
    const taker = this.#takers.shift();
    if (taker) taker(this.#handOut(key));
    else this.#waiting.add(key, this.#clock.monotonicMs(), this.#isUrgent(key));
  }

  /** Adds the key after `ms`, unless it is due earlier already. */
  addAfter(key: string, ms: number): void {
    if (this.#isClosed) return;
    if (ms <= 0) return this.add(key);
    const dueMs = this.#clock.monotonicMs() + ms;
    const before = this.#delayed.get(key);
    if (before) {
      if (before.dueMs <= dueMs) return;
      before.cancel();
    }
    // setTimeout fires at once beyond 2^31 - 1 ms; a key that comes a few weeks early is only looked at once more
    const cancel = this.#clock.after(Math.min(ms, 2_000_000_000), () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueMs, cancel });
  }

  /**
   * Adds a failed key after its own back-off or the queue's token bucket, whichever is later. A key that is to come back
   * anyway takes no further token: changes of its object have it fail as often as they like.
   * @returns milliseconds
   */
  addFailed(key: string): number {
    const wait = this.#delayed.has(key) ? 0 : this.#bucket.reserve();
    const ms = Math.max(this.#backoff.nextMs(key), wait);
    this.addAfter(key, ms);
    return ms;
  }

  /** Failures of this key in a row. */
  failures(key: string): number {
    return this.#backoff.failures(key);
  }

  /** The key was handled: its back-off begins anew. */
  forget(key: string): void {
    this.#backoff.forget(key);
  }

  /** The next key, by turns of namespaces and in order of arrival within one; waits for one, `undefined` once the queue is closed. Every key must be finished. */
  next(): Promise<string | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const key = this.#waiting.next;
    if (key !== undefined) return Promise.resolve(this.#handOut(key));
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The worker is done with this key. */
  finish(key: string): void {
    this.#inFlight.delete(key);
    if (this.#dirty.delete(key)) this.add(key);
  }

  /** Nothing is handed out or added any more; waiting takers get `undefined`. */
  close(): void {
    this.#isClosed = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#waiting.clear();
    this.#dirty.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #handOut(key: string): string {
    this.#waiting.take(key);
    this.#inFlight.add(key);
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
    return key;
  }
}
