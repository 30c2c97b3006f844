import { type Clock, systemClock } from '#lib/time';
import { refusal } from './check-destination.js';
import { ObjectStoreError } from './object-store-error.js';
import type { DestinationCheck, ObjectStore, ObjectStoreSettings } from './object-store.js';
import { openObjectStore } from './open-object-store.js';

/**
 * Performs work with a store in `ms` at most, and closes the store then: an endpoint that sends a byte now
 * and then is never silent, and would hold up its caller indefinitely.
 * @throws ObjectStoreError `ETIMEDOUT` when the time is over, and any error that `work` throws
 */
export async function usedWithin<T>(
  ms: number,
  clock: Pick<Clock, 'after'>,
  store: ObjectStore,
  work: (store: ObjectStore) => Promise<T>,
): Promise<T> {
  const over = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => {
    over.reject(new ObjectStoreError('ETIMEDOUT', `all requests within ${ms / 1000} seconds`));
  });
  try {
    return await Promise.race([work(store), over.promise]);
  } finally {
    cancel();
    store.close();
  }
}

/** Short limits, since a person waits for the answer. */
const IMPATIENT = { timeoutMs: 10_000, attempts: 2 };

/**
 * Time limit of a test: an endpoint that sends a byte now and then would otherwise keep the tester from the
 * endpoints of others.
 */
const LONGEST_MS = 30_000;

/** Tries a destination out, in half a minute at most. Failures of the destination are not thrown. */
export async function testDestination(
  settings: ObjectStoreSettings,
  bucket: string,
  prefix: string | undefined,
  { name, clock = systemClock }: { readonly name?: string; readonly clock?: Clock } = {},
): Promise<DestinationCheck> {
  try {
    const store = openObjectStore({ ...IMPATIENT, ...settings }, clock);
    return await usedWithin(LONGEST_MS, clock, store, () => store.checkDestination(bucket, prefix, name));
  } catch (error) {
    if (error instanceof ObjectStoreError) return refusal(error);
    throw error;
  }
}
