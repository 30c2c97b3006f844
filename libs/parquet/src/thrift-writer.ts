/** Types of Thrift's compact protocol that Parquet's metadata uses. */
const TRUE = 1;
const FALSE = 2;
const I16 = 4;
const I32 = 5;
const I64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;

/**
 * Writes Thrift's compact protocol: `begin` a struct, write its fields in ascending order of id, `end` it. A struct is
 * closed by `end`, however it was opened (`begin`, `struct`, or as an element of `list`).
 */
export class ThriftWriter {
  #bytes = Buffer.allocUnsafeSlow(1024);
  #length = 0;
  #lastField = 0;
  readonly #outer: number[] = [];

  /** Written bytes; valid until the next write. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): this {
    this.#length = 0;
    return this;
  }

  /** Opens a struct that is not a field: the whole document, or the element of a list. */
  begin(): this {
    this.#outer.push(this.#lastField);
    this.#lastField = 0;
    return this;
  }

  end(): this {
    this.#byte(0);
    this.#lastField = this.#outer.pop() ?? 0;
    return this;
  }

  struct(id: number): this {
    this.#field(id, STRUCT);
    return this.begin();
  }

  /** A field whose struct another writer has encoded. */
  encodedStruct(id: number, bytes: Uint8Array): this {
    return this.#field(id, STRUCT).encoded(bytes);
  }

  i16(id: number, value: number): this {
    return this.#field(id, I16).#zigzag(value);
  }

  i32(id: number, value: number): this {
    return this.#field(id, I32).#zigzag(value);
  }

  /** Exact up to 2^52. */
  i64(id: number, value: number): this {
    return this.#field(id, I64).#zigzag(value);
  }

  bool(id: number, value: boolean): this {
    return this.#field(id, value ? TRUE : FALSE);
  }

  binary(id: number, value: string | Uint8Array): this {
    return this.#field(id, BINARY).#blob(value);
  }

  /** Opens a list of structs: each is written by `begin` … `end`, or added by `encoded`. */
  structs(id: number, count: number): this {
    return this.#list(id, count, STRUCT);
  }

  i32s(id: number, values: readonly number[]): this {
    this.#list(id, values.length, I32);
    for (const value of values) this.#zigzag(value);
    return this;
  }

  i64s(id: number, values: readonly number[]): this {
    this.#list(id, values.length, I64);
    for (const value of values) this.#zigzag(value);
    return this;
  }

  bools(id: number, values: readonly boolean[]): this {
    this.#list(id, values.length, TRUE);
    for (const value of values) this.#byte(value ? TRUE : FALSE);
    return this;
  }

  blobs(id: number, values: readonly (string | Uint8Array)[]): this {
    this.#list(id, values.length, BINARY);
    for (const value of values) this.#blob(value);
    return this;
  }

  /** Elements that another writer has encoded. */
  encoded(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  #field(id: number, type: number): this {
    const step = id - this.#lastField;
    if (step < 1 || step > 15) throw new Error(`field ${id} cannot follow field ${this.#lastField}`);
    this.#lastField = id;
    return this.#byte((step << 4) | type);
  }

  #list(id: number, count: number, type: number): this {
    this.#field(id, LIST);
    return count < 15 ? this.#byte((count << 4) | type) : this.#byte(0xf0 | type).#varint(count);
  }

  #zigzag(value: number): this {
    return this.#varint(value < 0 ? -value * 2 - 1 : value * 2);
  }

  #varint(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#byte((rest % 0x80) | 0x80);
    return this.#byte(rest);
  }

  #blob(value: string | Uint8Array): this {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    return this.#varint(bytes.length).encoded(bytes);
  }

  #byte(value: number): this {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#length + count));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
