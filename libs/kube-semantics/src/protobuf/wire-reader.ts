/** A field as it stands on the wire: an integer, or a run of bytes. */
export type WireField =
  | { readonly number: number; readonly kind: 'integer'; readonly value: bigint }
  | { readonly number: number; readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly number: number; readonly kind: 'fixed'; readonly value: Uint8Array };

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** The fields of a protobuf message in the order they were written. Throws RangeError when it ends too early. */
export function readFields(message: Uint8Array): readonly WireField[] {
  const reader = new WireReader(message);
  const fields: WireField[] = [];
  while (!reader.isAtEnd) fields.push(reader.field());
  return fields;
}

/** Integers of a packed list. */
export function readPacked(bytes: Uint8Array): readonly bigint[] {
  const reader = new WireReader(bytes);
  const out: bigint[] = [];
  while (!reader.isAtEnd) out.push(reader.varint());
  return out;
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
