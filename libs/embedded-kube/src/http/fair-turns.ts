import { ApiError } from '#lib/kube-semantics';
import type { Clock } from '#lib/time';

interface Waiter {
  readonly sinceMs: number;
  readonly ended: AbortSignal;
  readonly turn: PromiseWithResolvers<void>;
}

/** Time for which a real API server lets a request wait in its queue. */
const PATIENCE_MS = 15_000;

/**
 * Schedules requests when more is asked for than one process can do: the waiting holder that has used the
 * least time comes next, with one slice in each round of the event loop. A thousand large requests of one
 * user then cost another one slice of waiting, not a thousand. A slice ends where its request awaits a body,
 * the database or a node; the time used is measured. An idle holder does not save up time.
 */
export class FairTurns {
  readonly #clock: Clock;
  readonly #patienceMs: number;
  readonly #waiting = new Map<string, Waiter[]>();
  readonly #usedMs = new Map<string, number>();
  /** Usage of the holder served last; a new holder starts from it. */
  #reachedMs = 0;
  #isAtWork = false;

  constructor(clock: Clock, patienceMs = PATIENCE_MS) {
    this.#clock = clock;
    this.#patienceMs = patienceMs;
  }

  /**
   * Resolves when the holder is scheduled.
   * @param ended aborted once the request has ended
   * @throws ApiError 429 when that took too long
   */
  take(holder: string, ended: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const waiter = { sinceMs: this.#clock.monotonicMs(), ended, turn };
    const others = this.#waiting.get(holder);
    if (others) others.push(waiter);
    else {
      this.#waiting.set(holder, [waiter]);
      this.#usedMs.set(holder, Math.max(this.#reachedMs, this.#usedMs.get(holder) ?? 0));
    }
    if (!this.#isAtWork) this.#serveNext();
    return turn.promise;
  }

  #serveNext(): void {
    const holder = this.#nextHolder();
    const waiter = holder === undefined ? undefined : this.#nextOf(holder);
    this.#isAtWork = holder !== undefined;
    if (holder === undefined) return this.#usedMs.clear();
    const usedMs = this.#usedMs.get(holder) ?? 0;
    this.#reachedMs = Math.max(this.#reachedMs, usedMs);
    let startedMs = 0;
    // two of one round: all that follows from the first, up to what it must wait for, happens between them
    setImmediate(() => {
      startedMs = this.#clock.monotonicMs();
      waiter?.turn.resolve();
    });
    setImmediate(() => {
      this.#usedMs.set(holder, usedMs + this.#clock.monotonicMs() - startedMs);
      this.#serveNext();
    });
  }

  #nextHolder(): string | undefined {
    let least: string | undefined;
    for (const holder of this.#waiting.keys())
      if (least === undefined || this.#used(holder) < this.#used(least)) least = holder;
    return least;
  }

  #used(holder: string): number {
    return this.#usedMs.get(holder) ?? 0;
  }

  /** The first of those that still want to be served; the others are refused on the way. */
  #nextOf(holder: string): Waiter | undefined {
    const waiters = this.#waiting.get(holder) ?? [];
    const nowMs = this.#clock.monotonicMs();
    let next: Waiter | undefined;
    while (next === undefined && waiters.length > 0) {
      const waiter = waiters.shift();
      if (waiter === undefined) break;
      const waitedMs = nowMs - waiter.sinceMs;
      if (waiter.ended.aborted) waiter.turn.reject(waiter.ended.reason);
      else if (waitedMs > this.#patienceMs) waiter.turn.reject(waitedTooLong(holder, waitedMs));
      else next = waiter;
    }
    if (waiters.length === 0) this.#waiting.delete(holder);
    return next;
  }
}

function waitedTooLong(holder: string, waitedMs: number): ApiError {
  return new ApiError(
    429,
    'TooManyRequests',
    `the request waited ${Math.round(waitedMs / 1000)} s behind other requests of ${holder}; send fewer at a time`,
    { retryAfterSeconds: 1 },
  );
}
