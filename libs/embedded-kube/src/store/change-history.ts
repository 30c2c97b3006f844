import type { StoredChange } from './stored-object.js';

/**
 * The latest changes in the order of their revisions, so that a watch can resume where it was. What falls out of the
 * window is compacted: a watch from before it gets 410 Gone and lists again.
 */
export class ChangeHistory {
  #changes: StoredChange[] = [];
  #compacted = 0;

  constructor(readonly maxChanges: number) {}

  /** The newest revision whose change is no longer known. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Starts over from what the database still has. */
  restore(changes: readonly StoredChange[], compacted: number): void {
    this.#changes = [...changes];
    this.#compacted = compacted;
  }

  add(change: StoredChange): void {
    this.#changes.push(change);
    // trimmed in large steps: shifting an array of thousands on every write would cost more than the write
    if (this.#changes.length < this.maxChanges * 1.25) return;
    const dropped = this.#changes.splice(0, this.#changes.length - this.maxChanges);
    this.#compacted = dropped.at(-1)?.after.revision ?? this.#compacted;
  }

  /** Changes after a revision, or undefined when some of them are compacted. */
  since(revision: number): readonly StoredChange[] | undefined {
    if (revision < this.#compacted) return undefined;
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const change = this.#changes[middle];
      if (change && change.after.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#changes.slice(low);
  }
}
