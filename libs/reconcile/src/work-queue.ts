import { Backoff, type BackoffOptions, type Clock } from '#lib/time';

interface BucketOptions {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * Limits the rate at which all keys together are retried, so that an outage which fails everything does not
 * become a storm. A reservation never blocks: it returns the milliseconds to wait. Debts are limited to a
 * burst: a key that fails without end delays the others for that long at most.
 */
class TokenBucket {
  #tokens: number;
  #at: number;

  constructor(
    private readonly options: BucketOptions,
    private readonly clock: Clock,
  ) {
    this.#tokens = options.burst;
    this.#at = clock.monotonicMs();
  }

  /** Takes a token, on credit if need be, and returns the milliseconds to wait for it. */
  reserve(): number {
    const { perSecond, burst } = this.options;
    const now = this.clock.monotonicMs();
    const earned = this.#tokens + ((now - this.#at) / 1000) * perSecond;
    this.#tokens = Math.max(-burst, Math.min(burst, earned) - 1);
    this.#at = now;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000;
  }
}

/** `namespace/name`; keys of cluster-wide objects are one namespace of their own. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

/**
 * Urgent keys in a row while others of their namespace wait: without a limit the others would never be
 * served.
 */
const URGENT_IN_ROW = 4;

/** Keys of one namespace, each with the time since when it waits: urgent ones first, each kind in order of arrival. */
class NamespaceKeys {
  readonly #urgent = new Map<string, number>();
  readonly #others = new Map<string, number>();
  #inRow = 0;

  get size(): number {
    return this.#urgent.size + this.#others.size;
  }

  get next(): string | undefined {
    const isUrgentNext = this.#urgent.size > 0 && (this.#others.size === 0 || this.#inRow < URGENT_IN_ROW);
    for (const key of (isUrgentNext ? this.#urgent : this.#others).keys()) return key;
    return undefined;
  }

  get oldestSinceMs(): number {
    // the first of each kind is its oldest
    const firsts = [this.#urgent, this.#others].map((keys) => keys.values().next().value ?? Infinity);
    return Math.min(...firsts);
  }

  /** @returns false for a key that waits already, which may become urgent */
  add(key: string, nowMs: number, isUrgent: boolean): boolean {
    if (this.#urgent.has(key)) return false;
    const since = this.#others.get(key);
    if (since !== undefined && !isUrgent) return false;
    this.#others.delete(key);
    (isUrgent ? this.#urgent : this.#others).set(key, since ?? nowMs);
    return since === undefined;
  }

  take(key: string): boolean {
    if (this.#urgent.delete(key)) this.#inRow += 1;
    else if (this.#others.delete(key)) this.#inRow = 0;
    else return false;
    return true;
  }
}

/** Keys that wait for a worker: namespaces are served in rotation, and within one urgent keys come first. */
class WaitingKeys {
  /** The namespace to be served next comes first. */
  readonly #namespaces = new Map<string, NamespaceKeys>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The key to be served next. */
  get next(): string | undefined {
    for (const keys of this.#namespaces.values()) return keys.next;
    return undefined;
  }

  get oldestSinceMs(): number | undefined {
    let oldest: number | undefined;
    for (const { oldestSinceMs } of this.#namespaces.values())
      if (oldest === undefined || oldestSinceMs < oldest) oldest = oldestSinceMs;
    return oldest;
  }

  /** A key that waits already keeps its place, unless it has become urgent. */
  add(key: string, nowMs: number, isUrgent = false): void {
    const namespace = namespaceOf(key);
    let keys = this.#namespaces.get(namespace);
    if (!keys) this.#namespaces.set(namespace, (keys = new NamespaceKeys()));
    if (keys.add(key, nowMs, isUrgent)) this.#size += 1;
  }

  /**
   * Removes a key and moves its namespace to the end of the rotation. @returns true when the key was waiting
   */
  take(key: string): boolean {
    const namespace = namespaceOf(key);
    const keys = this.#namespaces.get(namespace);
    if (!keys?.take(key)) return false;
    this.#size -= 1;
    this.#namespaces.delete(namespace);
    if (keys.size > 0) this.#namespaces.set(namespace, keys);
    return true;
  }

  clear(): void {
    this.#namespaces.clear();
    this.#size = 0;
  }
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Default: 100 ms doubling to 5 minutes. */
  readonly backoff?: BackoffOptions;
  /** Retries of all keys together. Default: 20 a second after a burst of 100. */
  readonly bucket?: BucketOptions;
  readonly random?: () => number;
  /**
   * Returns true when a key is served before others of its namespace, though not to the exclusion of them;
   * asked when it is added.
   */
  readonly isUrgent?: (key: string) => boolean;
  /** Keys whose passes are slow and may wait, such as those of deletions; asked when a key is added. */
  readonly aside?: AsideKeys;
}

/** Keys that have places of their own among the workers. */
export interface AsideKeys {
  readonly has: (key: string) => boolean;
  /** Most of them in flight at once; one of them always has a place. */
  readonly most: number;
}

/** Longest pause after trouble that may be over at any moment. */
const LONGEST_TRANSIENT_MS = 15_000;

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
 * - **delayed**: to be added at a time; the earliest time wins, and it is dropped when the key is handed out
 * earlier,
 *   because the pass that then runs decides anew
 *
 * Namespaces are served in rotation: one with hundreds of keys whose passes are slow (destinations that do
 * not answer) delays others by one pass and not by hundreds. Within a namespace urgent keys come first, four
 * in a row at most. Keys that are set aside wait by themselves: the first of them precedes all others, and
 * the rest of their places only while no other waits.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #backoffOptions: BackoffOptions;
  /** Back-offs of the keys that failed last. */
  readonly #backoffs = new Map<string, Backoff>();
  readonly #bucket: TokenBucket;
  readonly #isUrgent: (key: string) => boolean;
  readonly #aside: AsideKeys;
  readonly #waiting = new WaitingKeys();
  readonly #waitingAside = new WaitingKeys();
  readonly #inFlightAside = new Set<string>();
  readonly #inFlight = new Set<string>();
  readonly #dirty = new Set<string>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  /** Time of the last failure by key. */
  readonly #failedMs = new Map<string, number>();
  /** Time at which any key was handled last. */
  #answeredMs = -Infinity;
  #isClosed = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#isUrgent = options.isUrgent ?? (() => false);
    this.#aside = options.aside ?? { has: () => false, most: 0 };
    this.#backoffOptions = {
      ...(options.backoff ?? { firstMs: 100, longestMs: 300_000 }),
      ...(options.random ? { random: options.random } : {}),
    };
    this.#bucket = new TokenBucket(options.bucket ?? { perSecond: 20, burst: 100 }, options.clock);
  }

  /** Keys that wait for a worker now. */
  get depth(): number {
    return this.#waiting.size + this.#waitingAside.size + this.#dirty.size;
  }

  /** Milliseconds that the oldest key has waited for a worker, 0 when none waits. */
  get oldestMs(): number {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = [this.#waiting, this.#waitingAside].map(({ oldestSinceMs = nowMs }) => oldestSinceMs);
    return nowMs - Math.min(...sinceMs);
  }

  add(key: string): void {
    if (this.#isClosed) return;
    if (this.#inFlight.has(key)) {
      this.#dirty.add(key);
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    if (this.#aside.has(key)) {
      this.#waiting.take(key);
      this.#waitingAside.add(key, nowMs);
    } else {
      this.#waitingAside.take(key);
      this.#waiting.add(key, nowMs, this.#isUrgent(key));
    }
    this.#serve();
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
   * @param isTransient the trouble may be over at any moment: no pause is longer than 15 s, and they begin anew once a pass of
   * another key has been answered since the last failure of this one
   * @returns milliseconds
   */
  addFailed(key: string, isTransient = false): number {
    const nowMs = this.#clock.monotonicMs();
    const failedMs = this.#failedMs.get(key);
    if (isTransient && failedMs !== undefined && failedMs < this.#answeredMs) this.#backoffs.delete(key);
    this.#failedMs.set(key, nowMs);
    const wait = this.#delayed.has(key) ? 0 : this.#bucket.reserve();
    const backoff = this.#backoffs.get(key) ?? new Backoff(this.#clock, this.#backoffOptions);
    this.#backoffs.set(key, backoff);
    const pauseMs = backoff.nextMs();
    const ms = Math.max(isTransient ? Math.min(pauseMs, LONGEST_TRANSIENT_MS) : pauseMs, wait);
    this.addAfter(key, ms);
    return ms;
  }

  /** Failures of this key in a row. */
  failures(key: string): number {
    return this.#backoffs.get(key)?.failures ?? 0;
  }

  /** The key was handled: its back-off begins anew. */
  forget(key: string): void {
    this.#answeredMs = this.#clock.monotonicMs();
    this.#failedMs.delete(key);
    this.#backoffs.delete(key);
  }

  /**
   * The next key, in rotation of namespaces and in order of arrival within one; waits for one, `undefined`
   * once the queue is closed. Every key must be finished.
   */
  next(): Promise<string | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const key = this.#nextKey();
    if (key !== undefined) return Promise.resolve(this.#handOut(key));
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  #nextKey(): string | undefined {
    const places = this.#aside.most - this.#inFlightAside.size;
    const aside = places > 0 ? this.#waitingAside.next : undefined;
    return this.#inFlightAside.size === 0 ? (aside ?? this.#waiting.next) : (this.#waiting.next ?? aside);
  }

  /** Gives a key to a worker that waits, where there are both. */
  #serve(): void {
    if (this.#takers.length === 0) return;
    const key = this.#nextKey();
    if (key !== undefined) this.#takers.shift()?.(this.#handOut(key));
  }

  /** The worker is done with this key. */
  finish(key: string): void {
    this.#inFlight.delete(key);
    const hadPlace = this.#inFlightAside.delete(key);
    if (this.#dirty.delete(key)) this.add(key);
    if (hadPlace) this.#serve();
  }

  /** Nothing is handed out or added any more; waiting takers get `undefined`. */
  close(): void {
    this.#isClosed = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#waiting.clear();
    this.#waitingAside.clear();
    this.#dirty.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #handOut(key: string): string {
    if (this.#waitingAside.take(key)) this.#inFlightAside.add(key);
    else this.#waiting.take(key);
    this.#inFlight.add(key);
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
    return key;
  }
}
