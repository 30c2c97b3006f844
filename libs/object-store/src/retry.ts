import type { Clock } from '#lib/time';
import { classify, type ObjectStoreError } from './object-store-error.js';

export interface Retries {
  readonly clock: Clock;
  readonly attempts: number;
  readonly signal?: AbortSignal;
}

/**
 * Does something until it succeeds, fails for good, or has failed `attempts` times; waits 0.1 s, 0.2 s, 0.4 s, … at
 * most 5 s, each with up to half as much again, so that many workers do not come back together.
 * @param work is told which attempt it is, from 0
 * @throws ObjectStoreError, or the signal's reason
 */
export async function withRetries<T>(
  attempted: string,
  { clock, attempts, signal }: Retries,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    let failure: ObjectStoreError;
    try {
      return await work(attempt);
    } catch (error) {
      failure = classify(error, attempted);
    }
    if (!failure.retryable || attempt + 1 >= attempts) throw failure;
    await clock.sleep(Math.min(5000, 100 * 2 ** attempt) * (1 + Math.random() / 2), signal);
  }
}
