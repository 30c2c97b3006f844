import type { Clock } from '#lib/time';
import { ObjectStoreError } from './object-store-error.js';
import type { ObjectStore } from './object-store.js';

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
