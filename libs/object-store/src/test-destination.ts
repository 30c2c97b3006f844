import { CredentialsRefusedError, EndpointRefusedError } from './object-store-error.js';
import type { DestinationCheck, ObjectStoreSettings } from './object-store.js';
import { openObjectStore } from './open-object-store.js';

/** Somebody waits for the answer. */
const IMPATIENT = { timeoutMs: 10_000, attempts: 2 };

/** Tries a destination out, in half a minute at most. Throws nothing for what the destination is or does. */
export async function testDestination(
  settings: ObjectStoreSettings,
  bucket: string,
  prefix: string | undefined,
): Promise<DestinationCheck> {
  let store;
  try {
    store = openObjectStore({ ...IMPATIENT, ...settings });
  } catch (error) {
    const isOfCredentials = error instanceof CredentialsRefusedError;
    if (!isOfCredentials && !(error instanceof EndpointRefusedError)) throw error;
    const { code, advice } = error;
    const message = isOfCredentials ? 'Access denied' : 'Invalid endpoint';
    return { kind: 'refused', message, detail: code, advice, retryable: false };
  }
  try {
    return await store.checkDestination(bucket, prefix);
  } finally {
    store.close();
  }
}
