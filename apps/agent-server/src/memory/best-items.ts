import type { Ranked } from '../store/item/rank-items.js';

/** Items kept between two sorts: a multiple of the wanted ones, and at least this number. */
const KEPT = 4;
const LEAST_KEPT = 1_000;

/**
 * The best of many items: those with the highest scores, among equal ones those with the lowest ids. A
 * hundred thousand are never sorted together, which would block other work.
 */
export class BestItems {
  readonly #limit: number;
  readonly #most: number;
  #kept: Ranked[] = [];
  /** The last of the best so far, once there are enough; items behind it are discarded. */
  #last: Ranked | undefined;

  constructor(limit: number) {
    this.#limit = limit;
    this.#most = Math.max(KEPT * limit, LEAST_KEPT);
  }

  add(item: Ranked): void {
    if (this.#last && compare(item, this.#last) > 0) return;
    this.#kept.push(item);
    if (this.#kept.length >= this.#most) this.#cut();
  }

  /** The best items, best first. */
  best(): Ranked[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    this.#kept = this.#kept.sort(compare).slice(0, this.#limit);
    if (this.#kept.length === this.#limit) this.#last = this.#kept.at(-1);
  }
}

/** Ids are numbers of the database, without zeros in front: the shorter is the lower. */
function compare(one: Ranked, other: Ranked): number {
  if (one.score !== other.score) return other.score - one.score;
  if (one.itemId.length !== other.itemId.length) return one.itemId.length - other.itemId.length;
  return one.itemId < other.itemId ? -1 : 1;
}
