import { SPAN_BOUNDS } from './span.js';

/** Counts what one span, or one resource, brings. */
export class SpanCount {
  #values = 0;
  #leftOut = 0;

  /** Whether one more value may be kept; one that may not is counted as left out. */
  takes(depth: number): boolean {
    if (depth <= SPAN_BOUNDS.depth && this.#values < SPAN_BOUNDS.values) {
      this.#values++;
      return true;
    }
    this.#leftOut++;
    return false;
  }

  /** Whether a list that has so many items may have one more. */
  takesOneMore(has: number, most: number): boolean {
    if (has < most) return true;
    this.#leftOut++;
    return false;
  }

  get leftOut(): number {
    return this.#leftOut;
  }
}
