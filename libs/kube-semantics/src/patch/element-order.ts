import { isJsonObject, stableJson } from '#lib/json';

/** An item of a merged list with its places in two others; undefined where it is in none. */
interface Placed {
  readonly item: unknown;
  readonly order: number | undefined;
  readonly before: number | undefined;
}

/**
 * Orders a merged list: items named by `order` are in that order, the rest in the order it had, and the two
 * are merged by the places that both had in `before`.
 */
export function orderElements(
  merged: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  key: string | undefined,
): readonly unknown[] {
  const [ofOrder, ofBefore] = [placesOf(order, key), placesOf(before, key)];
  const placed = merged.map((item): Placed => {
    const identity = identityOf(item, key);
    return { item, order: ofOrder.get(identity), before: ofBefore.get(identity) };
  });
  const left = placed.filter((one) => one.order === undefined).toSorted(by('before'));
  const right = placed.filter((one) => one.order !== undefined).toSorted(by('order'));
  const out: Placed[] = [];
  let [atLeft, atRight] = [0, 0];
  for (;;) {
    const [one, other] = [left[atLeft], right[atRight]];
    if (!one || !other) break;
    const isLeftFirst = one.before !== undefined && other.before !== undefined && one.before < other.before;
    out.push(isLeftFirst ? one : other);
    if (isLeftFirst) atLeft++;
    else atRight++;
  }
  return [...out, ...left.slice(atLeft), ...right.slice(atRight)].map(({ item }) => item);
}

/** The first place of each identity. Looked up, since lists of hundreds of thousands fit into a patch. */
export function placesOf(list: readonly unknown[], key: string | undefined): Map<string, number> {
  const places = new Map<string, number>();
  for (const [at, item] of list.entries()) {
    const identity = identityOf(item, key);
    if (!places.has(identity)) places.set(identity, at);
  }
  return places;
}

/** The same text for equal items: for the value of their key where the list has one. */
export function identityOf(item: unknown, key: string | undefined): string {
  const identity = key !== undefined && isJsonObject(item) ? item[key] : item;
  return identity === undefined ? '' : stableJson(identity);
}

function by(list: 'order' | 'before'): (a: Placed, b: Placed) => number {
  return (a, b) => (a[list] ?? -1) - (b[list] ?? -1);
}
