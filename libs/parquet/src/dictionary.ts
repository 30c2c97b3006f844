import { PageBuffer } from './page.js';
import type { ValueEncoder } from './value-encoder.js';
import { ValuePlaces } from './value-places.js';

/** Maximum size: beyond it a dictionary costs readers more than it saves. */
const MAX_BYTES = 512 << 10;
/** A longer value is not compared with the one before. */
const MAX_LAST_BYTES = 64;

/** The distinct values of one column chunk, in order of appearance. */
export class Dictionary {
  /** The dictionary page's values. */
  readonly page = new PageBuffer();
  readonly #places = new ValuePlaces();
  /** The value before, since values usually repeat. */
  readonly #last = Buffer.alloc(MAX_LAST_BYTES);
  #lastLength = -1;
  #lastIndex = 0;

  constructor(private readonly encode: ValueEncoder) {}

  get size(): number {
    return this.#places.size;
  }

  get isFull(): boolean {
    return this.page.length > MAX_BYTES;
  }

  /** @param added called with the place of a value in `page` when it is new */
  indexOf(source: Buffer, at: number, length: number, added: (start: number) => void): number {
    if (length === this.#lastLength && isSame(this.#last, source, at, length)) return this.#lastIndex;
    const index = this.#indexOf(source, at, length, added);
    if (length <= MAX_LAST_BYTES) {
      this.#lastLength = source.copy(this.#last, 0, at, at + length);
      this.#lastIndex = index;
    }
    return index;
  }

  #indexOf(source: Buffer, at: number, length: number, added: (start: number) => void): number {
    const { size } = this.#places;
    const index = this.#places.place(source, at, length);
    if (index < size) return index;
    const start = this.page.length;
    this.encode(this.page, source, at, length);
    added(start);
    return index;
  }

  clear(): void {
    this.#places.clear();
    this.page.clear();
    this.#lastLength = -1;
  }
}

/** Byte by byte: values are short, and a call out of JavaScript costs more. */
function isSame(last: Buffer, source: Buffer, at: number, length: number): boolean {
  for (let n = 0; n < length; n++) if (last[n] !== source[at + n]) return false;
  return true;
}
