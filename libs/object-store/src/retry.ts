import { Backoff, type Clock } from '#lib/time';
import { classify, type ObjectStoreError } from './object-store-error.js';

export interface Retries {
  readonly clock: Clock;
  readonly attempts: number;
  readonly signal?: AbortSignal;
  /** True for failures that are worth another attempt; default: those that are `retryable`. */
  readonly isWorthwhile?: (failure: ObjectStoreError) => boolean;
}

/** 0.1 s, 0.2 s, 0.4 s, … at most 5 s, each with up to half as much again. */
const PAUSES = { firstMs: 125, longestMs: 6_250, jitter: 0.4 };

/**
 * Performs a request until it succeeds, fails for good, or has failed `attempts` times, with a growing pause after each
 * failure.
 * @param work gets the number of the attempt, from 0
 * @throws ObjectStoreError, or the signal's reason
 */
export async function withRetries<T>(
  attempted: string,
  { clock, attempts, signal, isWorthwhile = ({ retryable }) => retryable }: Retries,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  const backoff = new Backoff(clock, PAUSES);
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    let failure: ObjectStoreError;
    try {
      return await work(attempt);
    } catch (error) {
      failure = classify(error, attempted);
    }
    if (!isWorthwhile(failure) || attempt + 1 >= attempts) throw failure;
    await backoff.pause(signal);
  }
}
