import { hasMoreValues, isJsonObject } from '#lib/json';
import { ApiError } from '#lib/kube-semantics';

/**
 * More than any object has that people write. Each takes a hundred times the memory and the time of its two letters when
 * it is defaulted, validated and shown, while all other requests wait.
 */
const MAX_VALUES = 100_000;

/** Throws 413 for JSON of more values than an object may have, before it is parsed. */
export function checkTextValues(text: string): void {
  if (hasMoreValues(text, MAX_VALUES)) throw tooMany();
}

/** Throws 413 for a value that holds more of them: the result of a patch, or of protobuf. Depth is checked before. */
export function checkValues(value: unknown): void {
  let left = MAX_VALUES;
  const count = (here: unknown): void => {
    const items = Array.isArray(here) ? here : isJsonObject(here) ? Object.values(here) : [];
    left -= items.length;
    if (left < 0) throw tooMany();
    for (const item of items) count(item);
  };
  count(value);
}

function tooMany(): ApiError {
  const message = `Request entity too large: limit for the fields and items of an object is ${MAX_VALUES}`;
  return new ApiError(413, 'RequestEntityTooLarge', message);
}
