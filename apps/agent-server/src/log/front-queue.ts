/** Number of taken items below which the rest is not copied. */
const MIN_TAKEN = 1024;

/** Queue taken off at the front: in constant time for any length, unlike `Array.shift`. */
export class FrontQueue<T> {
  #items: (T | undefined)[] = [];
  #taken = 0;

  get length(): number {
    return this.#items.length - this.#taken;
  }

  at(index: number): T | undefined {
    return index < 0 ? undefined : this.#items[this.#taken + index];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  takeFirst(): T | undefined {
    if (this.length === 0) return undefined;
    const first = this.#items[this.#taken];
    this.#items[this.#taken++] = undefined;
    // each item is copied once for each time that the same number was taken off
    if (this.#taken >= MIN_TAKEN && this.#taken * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return first;
  }

  /**
   * Index of the first item for which the predicate is true; it is true of all after it. The length if of
   * none.
   */
  firstWhere(isTrue: (item: T) => boolean): number {
    let from = 0;
    let to = this.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const item = this.at(middle);
      if (item !== undefined && isTrue(item)) to = middle;
      else from = middle + 1;
    }
    return from;
  }
}
