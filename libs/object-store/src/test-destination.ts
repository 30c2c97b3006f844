import { type Clock, systemClock } from '#lib/time';
import { refusal } from './check-destination.js';
import { ObjectStoreError } from './object-store-error.js';
import type { DestinationCheck, ObjectStoreSettings } from './object-store.js';
import { openObjectStore } from './open-object-store.js';
import { usedWithin } from './used-within.js';

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
