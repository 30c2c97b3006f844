import { PageBuffer } from './page-buffer.js';
import type { ValueEncoder } from './value-encoder.js';

/** Beyond this a dictionary costs readers more than it saves. */
const MAX_BYTES = 512 << 10;

/** The distinct values of one column chunk, in order of appearance. */
export class Dictionary {
  /** The dictionary page's values. */
  readonly page = new PageBuffer();
  readonly #encode: ValueEncoder;
  readonly #indexes = new Map<string, number>();

  constructor(encode: ValueEncoder) {
    this.#encode = encode;
  }

  get size(): number {
    return this.#indexes.size;
  }

  get isFull(): boolean {
    return this.page.length > MAX_BYTES;
  }

  /** @param added called with the place of a value in `page` when it is new */
  indexOf(source: Buffer, at: number, length: number, added: (start: number) => void): number {
    const key = source.toString('latin1', at, at + length);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.#indexes.size;
    this.#indexes.set(key, index);
    const start = this.page.length;
    this.#encode(this.page, source, at, length);
    added(start);
    return index;
  }

  clear(): void {
    this.#indexes.clear();
    this.page.clear();
  }
}
