import { type ColumnType, PHYSICAL, physicalType } from './column-type.js';

/**
 * Smallest and largest of the values seen, in PLAIN encoding without a length. No value is outside of them.
 */
export interface Bounds {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
  /** False when a text was too long and only its beginning is here; undefined bounds of numbers are always exact. */
  readonly isMinExact: boolean;
  readonly isMaxExact: boolean;
}

/** Watches the values of a page as they are stored in it. */
export interface ValueRange {
  /** @param at offset of the value in `bytes`: of texts, of the text itself */
  observe(bytes: Buffer, at: number, length: number): void;
  /** Widens it to the values that another range has seen. */
  include(other: ValueRange): void;
  /** Undefined when there were no values, or none that is larger can be named. */
  bounds(): Bounds | undefined;
  clear(): void;
}

const MAX_BYTES = 64;

/** Texts, ordered by their bytes. Only the first 64 bytes of long ones are compared. */
class TextRange implements ValueRange {
  readonly #min = Buffer.alloc(MAX_BYTES);
  readonly #max = Buffer.alloc(MAX_BYTES);
  #minLength = -1;
  #maxLength = -1;
  #isMinCut = false;
  #isMaxCut = false;

  observe(bytes: Buffer, at: number, length: number): void {
    this.#observe(bytes, at, Math.min(length, MAX_BYTES), length > MAX_BYTES);
  }

  #observe(bytes: Buffer, at: number, length: number, isCut: boolean): void {
    const end = at + length;
    const isFirst = this.#minLength < 0;
    if (isFirst || bytes.compare(this.#min, 0, this.#minLength, at, end) < 0) {
      this.#minLength = bytes.copy(this.#min, 0, at, end);
      this.#isMinCut = isCut;
    }
    const order = isFirst ? 1 : bytes.compare(this.#max, 0, this.#maxLength, at, end);
    if (order > 0) {
      this.#maxLength = bytes.copy(this.#max, 0, at, end);
      this.#isMaxCut = isCut;
    } else if (order === 0) this.#isMaxCut ||= isCut;
  }

  include(other: ValueRange): void {
    if (!(other instanceof TextRange) || other.#minLength < 0) return;
    this.#observe(other.#min, 0, other.#minLength, other.#isMinCut);
    this.#observe(other.#max, 0, other.#maxLength, other.#isMaxCut);
  }

  bounds(): Bounds | undefined {
    if (this.#minLength < 0) return undefined;
    const min = this.#isMinCut ? wholeCharacters(this.#min) : this.#min.subarray(0, this.#minLength);
    const max = this.#isMaxCut
      ? nextLarger(wholeCharacters(this.#max))
      : this.#max.subarray(0, this.#maxLength);
    if (!max) return undefined;
    return {
      min: Buffer.from(min),
      max: Buffer.from(max),
      isMinExact: !this.#isMinCut,
      isMaxExact: !this.#isMaxCut,
    };
  }

  clear(): void {
    this.#minLength = this.#maxLength = -1;
    this.#isMinCut = this.#isMaxCut = false;
  }
}

/** The characters that are whole in a text that was cut: at most three bytes fall away. */
function wholeCharacters(cut: Buffer): Buffer {
  let start = cut.length - 1;
  while (start > 0 && ((cut[start] ?? 0) & 0xc0) === 0x80) start--;
  const lead = cut[start] ?? 0;
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return start + length <= cut.length ? cut : cut.subarray(0, start);
}

/** The shortest text that is larger than each that begins so; undefined when no such text exists. */
function nextLarger(prefix: Buffer): Buffer | undefined {
  const characters = [...prefix.toString()];
  while (characters.length > 0) {
    const code = characters.pop()?.codePointAt(0) ?? 0;
    if (code >= 0x10_ff_ff) continue;
    // halves of surrogate pairs are no characters
    const next = code === 0xd7_ff ? 0xe0_00 : code + 1;
    return Buffer.from(characters.join('') + String.fromCodePoint(next));
  }
  return undefined;
}

/** Little-endian integers, compared by their halves: as one number they may be beyond 2^53. */
class Int64Range implements ValueRange {
  #isEmpty = true;
  #minHigh = 0;
  #minLow = 0;
  #maxHigh = 0;
  #maxLow = 0;

  observe(bytes: Buffer, at: number): void {
    this.#observe(bytes.readInt32LE(at + 4), bytes.readUInt32LE(at));
  }

  #observe(high: number, low: number): void {
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

  include(other: ValueRange): void {
    if (!(other instanceof Int64Range) || other.#isEmpty) return;
    this.#observe(other.#minHigh, other.#minLow);
    this.#observe(other.#maxHigh, other.#maxLow);
  }

  bounds(): Bounds | undefined {
    if (this.#isEmpty) return undefined;
    return {
      min: int64(this.#minHigh, this.#minLow),
      max: int64(this.#maxHigh, this.#maxLow),
      isMinExact: true,
      isMaxExact: true,
    };
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

/** The order of bounds of a type. */
export function compareBounds(type: ColumnType, a: Uint8Array, b: Uint8Array): number {
  if (physicalType(type) !== PHYSICAL.int64) return Buffer.compare(a, b);
  const [left, right] = [a, b].map((bytes) => Buffer.from(bytes).readBigInt64LE()) as [bigint, bigint];
  return left < right ? -1 : left > right ? 1 : 0;
}
