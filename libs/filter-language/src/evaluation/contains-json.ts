import { isJsonObject } from '#lib/json';

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** Postgres' `whole @> part` of `jsonb`: members of objects by name; items of lists in any order and number. */
export function containsJson(whole: unknown, part: unknown): boolean {
  if (isScalar(part)) return whole === part;
  if (Array.isArray(part))
    return Array.isArray(whole) && part.every((item) => whole.some((other) => containsJson(other, item)));
  if (!isJsonObject(part) || !isJsonObject(whole)) return false;
  return Object.entries(part).every(
    ([name, value]) => Object.hasOwn(whole, name) && containsJson(whole[name], value),
  );
}
