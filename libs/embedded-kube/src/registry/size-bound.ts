import { hasMoreValues, isJsonObject, type JsonObject } from '#lib/json';
import { ApiError } from '#lib/kube-semantics';

/**
 * Maximum number of values, more than any object has that people write. Each takes a hundred times the memory
 * and the time of its two letters when it is defaulted, validated and shown, while all other requests wait.
 */
const MAX_VALUES = 100_000;

/** Throws 413 for JSON of more values than an object may have, before it is parsed. */
export function checkTextValues(text: string): void {
  if (hasMoreValues(text, MAX_VALUES)) throw tooManyValues();
}

/**
 * Additional values for a patched object: one that came with the maximum must still be given a status, and
 * lose its finalizers.
 */
const ROOM_FOR_PATCHES = 1_000;

/** Throws 413 for the result of a patch that holds more of them; who wrote which field, as the server keeps it, aside. */
export function checkPatched(object: JsonObject): void {
  const { metadata } = object;
  const own = isJsonObject(metadata) ? { ...metadata, managedFields: undefined } : metadata;
  checkValues({ ...object, metadata: own }, MAX_VALUES + ROOM_FOR_PATCHES);
}

/** Throws 413 for a value that holds more of them: the result of protobuf. Depth is checked before. */
export function checkValues(value: unknown, most = MAX_VALUES): void {
  let left = most;
  const count = (here: unknown): void => {
    const items = Array.isArray(here) ? here : isJsonObject(here) ? Object.values(here) : [];
    left -= items.length;
    if (left < 0) throw tooManyValues();
    for (const item of items) count(item);
  };
  count(value);
}

/** 413 */
export function tooManyValues(): ApiError {
  const message = `Request entity too large: limit for the fields and items of an object is ${MAX_VALUES}`;
  return new ApiError(413, 'RequestEntityTooLarge', message);
}
