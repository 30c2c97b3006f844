import { isRecord, own } from './reading.js';

/** Equality of JSON values; the order of fields does not matter. */
export function jsonEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => jsonEqual(item, right[index]))
    );
  }
  if (!isRecord(left) || !isRecord(right)) return false;
  const names = Object.keys(left).filter((name) => left[name] !== undefined);
  const others = Object.keys(right).filter((name) => right[name] !== undefined);
  return names.length === others.length && names.every((name) => jsonEqual(left[name], own(right, name)));
}
