import { isJsonObject, type JsonObject } from './json-object.js';

/**
 * True when two JSON values are equal: the order of fields does not matter, an undefined field counts as
 * absent.
 */
export function jsonEquals(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left))
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, at) => jsonEquals(item, right[at]))
    );
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  const names = fieldsOf(left);
  return (
    names.length === fieldsOf(right).length &&
    // `constructor` and the like count only as own fields
    names.every((name) => Object.hasOwn(right, name) && jsonEquals(left[name], right[name]))
  );
}

function fieldsOf(object: JsonObject): readonly string[] {
  return Object.keys(object).filter((name) => object[name] !== undefined);
}
