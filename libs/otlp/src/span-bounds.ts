import { SPAN_BOUNDS } from './span.js';
import { UnreadableRequestError } from './unreadable-request-error.js';

/** Counts the data of one span, or of one resource. */
export class SpanCount {
  #values = 0;
  #textBytes = 0;
  #leftOut = 0;

  /** True when one more value may be kept; one that may not is counted as left out. */
  takes(depth: number): boolean {
    if (depth <= SPAN_BOUNDS.depth && this.#values < SPAN_BOUNDS.values) {
      this.#values++;
      return true;
    }
    return this.#leaveOut();
  }

  /** True when a text of so many bytes may be kept. */
  takesText(bytes: number): boolean {
    if (this.#textBytes + bytes > SPAN_BOUNDS.textBytes) return this.#leaveOut();
    this.#textBytes += bytes;
    return true;
  }

  /** True when a list that has so many items may have one more. */
  takesOneMore(has: number, most: number): boolean {
    return has < most || this.#leaveOut();
  }

  /** @throws UnreadableRequestError when it takes more time to count them than a span may */
  #leaveOut(): false {
    if (++this.#leftOut > SPAN_BOUNDS.leftOut)
      throw new UnreadableRequestError(
        `a span, or a resource, has over ${SPAN_BOUNDS.leftOut} attributes, values, events or links too many`,
        true,
      );
    return false;
  }

  get leftOut(): number {
    return this.#leftOut;
  }
}
