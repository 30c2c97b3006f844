import { isJsonObject } from './json-object.js';

/**
 * True when `whole` has every field of `part` with the same value, at any depth; lists must have equal
 * lengths and contain one another element by element. An undefined field of `part` asks for nothing.
 */
export function jsonContains(part: unknown, whole: unknown): boolean {
  if (part === whole || part === undefined) return true;
  if (Array.isArray(part))
    return (
      Array.isArray(whole) &&
      part.length === whole.length &&
      part.every((item, at) => jsonContains(item, whole[at]))
    );
  if (!isJsonObject(part) || !isJsonObject(whole)) return false;
  return Object.entries(part).every(
    ([name, value]) =>
      value === undefined || (Object.hasOwn(whole, name) && jsonContains(value, whole[name])),
  );
}
