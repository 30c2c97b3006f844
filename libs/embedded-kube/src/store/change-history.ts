import type { Clock } from '#lib/time';
import { lettersOf, type StoredChange } from './stored-object.js';

const MAX_LETTERS = 64 * 1024 * 1024;
/** Time for which an API server in front of etcd keeps changes. */
const MAX_AGE_MS = 5 * 60_000;
/** Kept whatever their age: the newest in the database says how far it is. */
const KEPT_CHANGES = 100;

export interface ChangeHistoryOptions {
  readonly clock: Clock;
  readonly maxChanges: number;
  /**
   * Limit for the JSON of all kept changes: a few thousand changes of large objects would fill the memory.
   */
  readonly maxLetters?: number;
}

/**
 * The latest changes in the order of their revisions, so that a watch can resume where it was. Changes that
 * leave the window are compacted: a watch from before it gets 410 Gone and lists again.
 */
export class ChangeHistory {
  readonly #clock: Clock;
  readonly #maxChanges: number;
  readonly #maxLetters: number;
  #changes: StoredChange[] = [];
  /** Times at which each of them was added. */
  #times: number[] = [];
  #compacted = 0;
  #letters = 0;

  constructor({ clock, maxChanges, maxLetters = MAX_LETTERS }: ChangeHistoryOptions) {
    this.#clock = clock;
    this.#maxChanges = maxChanges;
    this.#maxLetters = maxLetters;
  }

  /** Changes that are kept. */
  get length(): number {
    return this.#changes.length;
  }

  /** The newest revision whose change is no longer known. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Starts over from what the database still has. */
  restore(changes: readonly StoredChange[], compacted: number): void {
    this.#changes = [...changes];
    this.#times = changes.map(() => this.#clock.monotonicMs());
    this.#compacted = compacted;
    this.#letters = changes.reduce((sum, change) => sum + sizeOf(change), 0);
    this.#trim();
  }

  add(change: StoredChange): void {
    this.#changes.push(change);
    this.#times.push(this.#clock.monotonicMs());
    this.#letters += sizeOf(change);
    this.#trim();
  }

  /** Forgets what is older than a watch may be behind. */
  forgetOld(): void {
    const oldest = this.#clock.monotonicMs() - MAX_AGE_MS;
    const young = this.#times.findIndex((time) => time >= oldest);
    const old = young < 0 ? this.#times.length : young;
    this.#drop(Math.min(old, this.#changes.length - KEPT_CHANGES));
  }

  // in large steps: shifting an array of thousands on every write would cost more than the write
  #trim(): void {
    if (this.#changes.length < this.#maxChanges * 1.25 && this.#letters < this.#maxLetters * 1.25) return;
    let count = Math.max(0, this.#changes.length - this.#maxChanges);
    let left = this.#letters - lettersOfAll(this.#changes.slice(0, count));
    for (; left > this.#maxLetters && count < this.#changes.length; count++)
      left -= lettersOfAll(this.#changes.slice(count, count + 1));
    this.#drop(count);
  }

  #drop(count: number): void {
    if (count <= 0) return;
    const dropped = this.#changes.splice(0, count);
    this.#times.splice(0, count);
    this.#letters -= lettersOfAll(dropped);
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

/** Size of a change: the object after it. The one before it is the previous change's. */
function sizeOf({ after }: StoredChange): number {
  return lettersOf(after);
}

function lettersOfAll(changes: readonly StoredChange[]): number {
  return changes.reduce((sum, change) => sum + sizeOf(change), 0);
}
