/** A field on the wire: an integer, or a run of bytes. */
export type WireField =
  | { readonly number: number; readonly kind: 'integer'; readonly value: bigint }
  | { readonly number: number; readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly number: number; readonly kind: 'fixed'; readonly value: Uint8Array };

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Three for each value that an object may have: an entry of a map has two of its own. */
const MAX_FIELDS = 300_000;

/** A body has more fields than any object. */
export class TooManyFieldsError extends Error {}

/**
 * Reads the messages of one body. A message of two bytes becomes an object of hundreds, so that megabytes of them would
 * fill the memory, and stop everybody else for seconds, before it is known how many values they are.
 */
export class FieldReader {
  #left = MAX_FIELDS;

  /**
   * The fields of a message in the order they were written.
   * @throws RangeError when it ends too early, TooManyFieldsError
   */
  fields(message: Uint8Array): readonly WireField[] {
    return this.#read(message, (reader) => reader.field());
  }

  /** Integers of a packed list. */
  packed(bytes: Uint8Array): readonly bigint[] {
    return this.#read(bytes, (reader) => reader.varint());
  }

  #read<T>(bytes: Uint8Array, one: (reader: WireReader) => T): readonly T[] {
    const reader = new WireReader(bytes);
    const found: T[] = [];
    while (!reader.isAtEnd) {
      if (this.#left-- === 0) throw new TooManyFieldsError();
      found.push(one(reader));
    }
    return found;
  }
}

class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  field(): WireField {
    const tag = Number(this.varint());
    const number = tag >>> 3;
    switch (tag & 7) {
      case VARINT:
        return { number, kind: 'integer', value: this.varint() };
      case BYTES:
        return { number, kind: 'bytes', value: this.#take(Number(this.varint())) };
      case FIXED64:
        return { number, kind: 'fixed', value: this.#take(8) };
      case FIXED32:
        return { number, kind: 'fixed', value: this.#take(4) };
      default:
        throw new RangeError(`unknown wire type ${tag & 7}`);
    }
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new RangeError('unexpected end of message');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('integer is too long');
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('unexpected end of message');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
