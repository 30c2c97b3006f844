import { isJsonObject, jsonEquals } from '#lib/json';

/**
 * Orders a merged list: what `order` names stands in that order, the rest in the order it had, and the two are woven
 * together by the places both had in `before`.
 */
export function orderElements(
  merged: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  key: string | undefined,
): readonly unknown[] {
  const place = (list: readonly unknown[], item: unknown): number =>
    list.findIndex((candidate) => jsonEquals(identity(candidate, key), identity(item, key)));
  const named = merged.filter((item) => place(order, item) >= 0);
  const others = merged.filter((item) => place(order, item) < 0);
  const left = others.toSorted((a, b) => place(before, a) - place(before, b));
  const right = named.toSorted((a, b) => place(order, a) - place(order, b));
  const out: unknown[] = [];
  while (left.length > 0 && right.length > 0) {
    const at = place(before, left[0]);
    const other = place(before, right[0]);
    out.push(at >= 0 && other >= 0 && at < other ? left.shift() : right.shift());
  }
  return [...out, ...left, ...right];
}

function identity(item: unknown, key: string | undefined): unknown {
  return key !== undefined && isJsonObject(item) ? item[key] : item;
}
