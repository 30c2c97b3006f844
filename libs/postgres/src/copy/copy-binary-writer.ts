const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);
/** Microseconds from 1970 to 2000, where Postgres counts from. */
const POSTGRES_EPOCH = 946_684_800_000_000n;
/** Offsets of the pairs of digits in a UUID's text. */
const UUID_DIGITS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
/** Value of a hexadecimal digit, by its character code. */
const HEX = new Uint8Array(128);
for (const digit of '0123456789abcdefABCDEF') HEX[digit.charCodeAt(0)] = Number.parseInt(digit, 16);
const OID = { uuid: 2950, text: 25 } as const;
/** Payloads longer than this are handed on as they are instead of being copied. */
const COPY_BELOW_BYTES = 16_384;
const BLOCK_BYTES = 65_536;
/** Maximum length of a text that is written directly; longer ones are encoded into a buffer of their own. */
const MAX_DIRECT_CHARS = 4_096;

/**
 * Writes rows in the form of `COPY … FROM STDIN (FORMAT binary)`. Payload bytes go from the request to the socket
 * untouched, and Postgres parses nothing but lengths.
 */
export class CopyBinaryWriter {
  readonly #chunks: Buffer[] = [];
  #block = Buffer.allocUnsafe(BLOCK_BYTES);
  #used = 0;
  #sealed = 0;

  constructor() {
    this.#put(SIGNATURE);
  }

  row(columns: number): this {
    this.#room(2);
    this.#used = this.#block.writeInt16BE(columns, this.#used);
    return this;
  }

  uuid(value: string | undefined): this {
    if (value === undefined) return this.#null();
    this.#room(20);
    this.#used = this.#block.writeInt32BE(16, this.#used);
    this.#uuidBytes(value);
    return this;
  }

  text(value: string | undefined): this {
    if (value === undefined) return this.#null();
    // three bytes are the most that a character takes in UTF-8
    if (value.length > MAX_DIRECT_CHARS) return this.bytes(Buffer.from(value));
    this.#room(4 + value.length * 3);
    const written = this.#block.write(value, this.#used + 4);
    this.#block.writeInt32BE(written, this.#used);
    this.#used += 4 + written;
    return this;
  }

  /** UTF-8. */
  bytes(value: Buffer | undefined): this {
    if (value === undefined) return this.#null();
    this.#room(4);
    this.#used = this.#block.writeInt32BE(value.length, this.#used);
    this.#put(value);
    return this;
  }

  /** A bit string, eight bits a byte. */
  bits(value: Buffer | undefined): this {
    if (value === undefined) return this.#null();
    this.#room(8);
    this.#used = this.#block.writeInt32BE(4 + value.length, this.#used);
    this.#used = this.#block.writeInt32BE(value.length * 8, this.#used);
    this.#put(value);
    return this;
  }

  /** Microseconds since 1970. */
  time(value: bigint | undefined): this {
    return value === undefined ? this.#null() : this.#int8(value - POSTGRES_EPOCH);
  }

  int2(value: number): this {
    this.#room(6);
    this.#used = this.#block.writeInt32BE(2, this.#used);
    this.#used = this.#block.writeInt16BE(value, this.#used);
    return this;
  }

  int4(value: number): this {
    this.#room(8);
    this.#used = this.#block.writeInt32BE(4, this.#used);
    this.#used = this.#block.writeInt32BE(value, this.#used);
    return this;
  }

  int8(value: number | undefined): this {
    return value === undefined ? this.#null() : this.#int8(BigInt(value));
  }

  bool(value: boolean): this {
    this.#room(5);
    this.#used = this.#block.writeInt32BE(1, this.#used);
    this.#used = this.#block.writeUInt8(value ? 1 : 0, this.#used);
    return this;
  }

  /** Non-negative decimal text with at most twelve digits after the point. */
  numeric(value: string | undefined): this {
    if (value === undefined) return this.#null();
    const [whole = '0', fraction = ''] = value.split('.');
    const padded = whole.padStart(Math.ceil(whole.length / 4) * 4, '0') + fraction.padEnd(12, '0');
    const digits: number[] = [];
    for (let i = 0; i < padded.length; i += 4) digits.push(Number(padded.slice(i, i + 4)));
    let weight = digits.length - 4;
    while (digits[0] === 0) {
      digits.shift();
      weight--;
    }
    this.#room(12 + digits.length * 2);
    this.#used = this.#block.writeInt32BE(8 + digits.length * 2, this.#used);
    for (const part of [digits.length, digits.length === 0 ? 0 : weight, 0, fraction.length, ...digits])
      this.#used = this.#block.writeInt16BE(part, this.#used);
    return this;
  }

  uuids(values: readonly string[]): this {
    this.#arrayHead(values.length, OID.uuid, values.length * 20);
    for (const value of values) this.uuid(value);
    return this;
  }

  texts(values: readonly string[]): this {
    const items = values.map((value) => Buffer.from(value));
    const size = items.reduce((sum, item) => sum + item.length + 4, 0);
    this.#arrayHead(items.length, OID.text, size);
    for (const item of items) this.bytes(item);
    return this;
  }

  /** Everything written, with the trailer. The writer is used up. */
  finish(): readonly Buffer[] {
    this.#put(TRAILER);
    this.#seal();
    return this.#chunks;
  }

  #arrayHead(length: number, elementOid: number, elementBytes: number): void {
    const isEmpty = length === 0;
    this.#room(28);
    this.#used = this.#block.writeInt32BE((isEmpty ? 12 : 20) + elementBytes, this.#used);
    for (const part of isEmpty ? [0, 0, elementOid] : [1, 0, elementOid, length, 1])
      this.#used = this.#block.writeInt32BE(part, this.#used);
  }

  #uuidBytes(value: string): void {
    // the bytes are decoded in JavaScript: a native call costs more, and a run has some forty UUIDs
    for (const at of UUID_DIGITS)
      this.#block[this.#used++] =
        ((HEX[value.charCodeAt(at)] ?? 0) << 4) | (HEX[value.charCodeAt(at + 1)] ?? 0);
  }

  #int8(value: bigint): this {
    this.#room(12);
    this.#used = this.#block.writeInt32BE(8, this.#used);
    this.#used = this.#block.writeBigInt64BE(value, this.#used);
    return this;
  }

  #null(): this {
    this.#room(4);
    this.#used = this.#block.writeInt32BE(-1, this.#used);
    return this;
  }

  #put(bytes: Buffer): void {
    if (bytes.length >= COPY_BELOW_BYTES) {
      this.#seal();
      this.#chunks.push(bytes);
      return;
    }
    this.#room(bytes.length);
    this.#used += bytes.copy(this.#block, this.#used);
  }

  /** Closes the written part of the block, so that order is kept. */
  #seal(): void {
    if (this.#used > this.#sealed) this.#chunks.push(this.#block.subarray(this.#sealed, this.#used));
    this.#sealed = this.#used;
  }

  #room(bytes: number): void {
    if (this.#used + bytes <= this.#block.length) return;
    this.#seal();
    this.#block = Buffer.allocUnsafe(Math.max(BLOCK_BYTES, bytes));
    this.#used = 0;
    this.#sealed = 0;
  }
}
