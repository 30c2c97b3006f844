import { type Clock, systemClock } from '#lib/time';
import { refusal } from './check-destination.js';
import { endpointCause } from './endpoint-cause.js';
import { CredentialsRefusedError, EndpointRefusedError } from './object-store-error.js';
import type { DestinationCheck, ObjectStoreSettings } from './object-store.js';
import { openObjectStore } from './open-object-store.js';

/** Somebody waits for the answer. */
const IMPATIENT = { timeoutMs: 10_000, attempts: 2 };

/** An endpoint that says a byte now and then would keep whoever tests it from those of others. */
const LONGEST_MS = 30_000;

const TOO_LATE = {
  kind: 'refused',
  message: 'Invalid endpoint',
  detail: 'ETIMEDOUT',
  advice: endpointCause('ETIMEDOUT'),
  retryable: true,
} as const satisfies DestinationCheck;

/** Tries a destination out, in half a minute at most. Throws nothing for what the destination is or does. */
export async function testDestination(
  settings: ObjectStoreSettings,
  bucket: string,
  prefix: string | undefined,
  { name, clock = systemClock }: { readonly name?: string; readonly clock?: Clock } = {},
): Promise<DestinationCheck> {
  let store;
  try {
    store = openObjectStore({ ...IMPATIENT, ...settings }, clock);
  } catch (error) {
    if (error instanceof CredentialsRefusedError || error instanceof EndpointRefusedError)
      return refusal(error);
    throw error;
  }
  const over = Promise.withResolvers<DestinationCheck>();
  const cancel = clock.after(LONGEST_MS, () => over.resolve(TOO_LATE));
  try {
    return await Promise.race([store.checkDestination(bucket, prefix, name), over.promise]);
  } finally {
    cancel();
    store.close();
  }
}
