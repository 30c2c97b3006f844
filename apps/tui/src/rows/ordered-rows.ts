import type { Change } from '#lib/kube';
import { keyOf, keyText } from '#lib/resources';
import type { Item, Items } from '../world/items.js';

/** A value that rows are ordered by: numbers before texts. */
export type Rank = number | string;

export interface RowOrder {
  readonly isShown: (item: Item) => boolean;
  readonly rankOf: (item: Item) => Rank;
  readonly isDescending: boolean;
}

interface Entry {
  readonly key: string;
  readonly item: Item;
  readonly rank: Rank;
}

/** Share of changed rows above which a new sort is cheaper than moving one after the other. */
const RESORT_SHARE = 1 / 16;

/**
 * The items of a source that are shown, in order, kept so as they change: one change moves one entry. Changes are taken
 * in when something is next read, many at once, so that a first list of 50,000 is sorted once.
 */
export class OrderedRows {
  readonly #order: RowOrder;
  readonly #places = new Map<string, Entry>();
  readonly #pending = new Map<string, Item | undefined>();
  readonly #end: () => void;
  #entries: Entry[] = [];
  /** Entries that were compared with the order or the filter: what the work grows with. */
  touched = 0;

  constructor(items: Items, order: RowOrder) {
    this.#order = order;
    this.#end = items.on((change) => this.#take(change));
  }

  get size(): number {
    this.#settle();
    return this.#entries.length;
  }

  slice(start: number, end: number): readonly Item[] {
    this.#settle();
    return this.#entries.slice(start, end).map(({ item }) => item);
  }

  at(index: number): Item | undefined {
    this.#settle();
    return this.#entries[index]?.item;
  }

  find(key: string): Item | undefined {
    this.#settle();
    return this.#places.get(key)?.item;
  }

  /** -1 for what is not shown. */
  indexOf(key: string): number {
    this.#settle();
    const entry = this.#places.get(key);
    return entry === undefined ? -1 : this.#placeOf(entry);
  }

  close(): void {
    this.#end();
  }

  #take({ kind, object }: Change<Item>): void {
    this.#pending.set(keyText(keyOf(object)), kind === 'deleted' ? undefined : object);
  }

  #settle(): void {
    if (this.#pending.size === 0) return;
    const changes = [...this.#pending];
    this.#pending.clear();
    if (changes.length > this.#entries.length * RESORT_SHARE) return this.#resort(changes);
    for (const [key, item] of changes) {
      this.#remove(key);
      const entry = this.#entryOf(key, item);
      if (entry) this.#insert(entry);
    }
  }

  #resort(changes: readonly (readonly [string, Item | undefined])[]): void {
    for (const [key, item] of changes) {
      const entry = this.#entryOf(key, item);
      if (entry) this.#places.set(key, entry);
      else this.#places.delete(key);
    }
    this.#entries = [...this.#places.values()].sort((a, b) => this.#compare(a, b));
  }

  #entryOf(key: string, item: Item | undefined): Entry | undefined {
    this.touched++;
    if (item === undefined || !this.#order.isShown(item)) return undefined;
    return { key, item, rank: this.#order.rankOf(item) };
  }

  #remove(key: string): void {
    const entry = this.#places.get(key);
    if (entry === undefined) return;
    this.#entries.splice(this.#placeOf(entry), 1);
    this.#places.delete(key);
  }

  #insert(entry: Entry): void {
    this.#places.set(entry.key, entry);
    this.#entries.splice(this.#placeOf(entry), 0, entry);
  }

  /** Index at which the entry is, or would be. */
  #placeOf(entry: Entry): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#entries[middle];
      this.touched++;
      if (other !== undefined && this.#compare(other, entry) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compare(a: Entry, b: Entry): number {
    const byRank = compareRanks(a.rank, b.rank) * (this.#order.isDescending ? -1 : 1);
    return byRank || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  }
}

function compareRanks(a: Rank, b: Rank): number {
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
