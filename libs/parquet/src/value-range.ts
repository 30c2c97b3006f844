import { type ColumnType, PHYSICAL, physicalType } from './column-type.js';

/** Smallest and largest of the values seen, in PLAIN encoding without a length. */
export interface Bounds {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
}

/** Watches the values of one column chunk as they stand in the page. */
export interface ValueRange {
  /** @param at where the value lies in `bytes`: of texts, where the text itself begins */
  observe(bytes: Buffer, at: number, length: number): void;
  /** Undefined when there were no values, or when one is too long to be of use. */
  bounds(): Bounds | undefined;
  clear(): void;
}

const MAX_BYTES = 64;

/** Texts, ordered by their bytes. */
class TextRange implements ValueRange {
  readonly #min = Buffer.alloc(MAX_BYTES);
  readonly #max = Buffer.alloc(MAX_BYTES);
  #minLength = -1;
  #maxLength = -1;
  #isUseless = false;

  observe(bytes: Buffer, at: number, length: number): void {
    if (this.#isUseless) return;
    if (length > MAX_BYTES) {
      this.#isUseless = true;
      return;
    }
    const isFirst = this.#minLength < 0;
    if (isFirst || bytes.compare(this.#min, 0, this.#minLength, at, at + length) < 0)
      this.#minLength = bytes.copy(this.#min, 0, at, at + length);
    if (isFirst || bytes.compare(this.#max, 0, this.#maxLength, at, at + length) > 0)
      this.#maxLength = bytes.copy(this.#max, 0, at, at + length);
  }

  bounds(): Bounds | undefined {
    if (this.#isUseless || this.#minLength < 0) return undefined;
    return { min: this.#min.subarray(0, this.#minLength), max: this.#max.subarray(0, this.#maxLength) };
  }

  clear(): void {
    this.#minLength = this.#maxLength = -1;
    this.#isUseless = false;
  }
}

/** Little-endian integers, compared by their halves: as one number they may be beyond 2^53. */
class Int64Range implements ValueRange {
  #isEmpty = true;
  #minHigh = 0;
  #minLow = 0;
  #maxHigh = 0;
  #maxLow = 0;

  observe(bytes: Buffer, at: number): void {
    const low = bytes.readUInt32LE(at);
    const high = bytes.readInt32LE(at + 4);
    if (this.#isEmpty || high < this.#minHigh || (high === this.#minHigh && low < this.#minLow)) {
      this.#minHigh = high;
      this.#minLow = low;
    }
    if (this.#isEmpty || high > this.#maxHigh || (high === this.#maxHigh && low > this.#maxLow)) {
      this.#maxHigh = high;
      this.#maxLow = low;
    }
    this.#isEmpty = false;
  }

  bounds(): Bounds | undefined {
    if (this.#isEmpty) return undefined;
    return { min: int64(this.#minHigh, this.#minLow), max: int64(this.#maxHigh, this.#maxLow) };
  }

  clear(): void {
    this.#isEmpty = true;
  }
}

function int64(high: number, low: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(low);
  bytes.writeInt32LE(high, 4);
  return bytes;
}

/** Undefined for types without an order that readers use. */
export function valueRange(type: ColumnType): ValueRange | undefined {
  const physical = physicalType(type);
  if (physical === PHYSICAL.int64) return new Int64Range();
  return physical === PHYSICAL.byteArray ? new TextRange() : undefined;
}
