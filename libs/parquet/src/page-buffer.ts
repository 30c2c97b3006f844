/** Space before the values, in which a page's levels usually fit. */
export const HEADROOM = 4096;

const USUAL_BYTES = 32 << 10;

/** Larger buffers were needed for one huge value and are not kept. */
const MAX_KEPT_BYTES = 4 << 20;

/** Pages that are used again, by whichever column needs one next. */
export class PagePool {
  readonly #free: PageBuffer[] = [];

  take(): PageBuffer {
    return this.#free.pop() ?? new PageBuffer();
  }

  give(page: PageBuffer): void {
    page.clear();
    if (page.bytes.length <= MAX_KEPT_BYTES) this.#free.push(page);
  }
}

/** The values of one page in the making, in PLAIN encoding. Writers `reserve`, write into `bytes`, and move `length`. */
export class PageBuffer {
  bytes = Buffer.allocUnsafeSlow(USUAL_BYTES);
  length = HEADROOM;
  #bit = 0;

  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.length + count));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  /** Booleans are packed from the lowest bit on. */
  appendBit(isSet: boolean): void {
    if (this.#bit === 0) {
      this.reserve(1);
      this.bytes[this.length++] = 0;
    }
    const last = this.length - 1;
    if (isSet) this.bytes[last] = (this.bytes[last] ?? 0) | (1 << this.#bit);
    this.#bit = (this.#bit + 1) & 7;
  }

  clear(): void {
    this.length = HEADROOM;
    this.#bit = 0;
  }
}
