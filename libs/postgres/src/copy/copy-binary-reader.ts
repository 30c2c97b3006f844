/** The bytes are not in the format of `COPY … (FORMAT binary)`. */
class CopyFormatError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CopyFormatError';
  }
}

/** One row: the range of each field in `bytes`. Valid until the reader moves on. */
export interface Tuple {
  readonly bytes: Buffer;
  readonly offsets: Int32Array;
  /** -1 is NULL. */
  readonly lengths: Int32Array;
}

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
const HEADER_BYTES = SIGNATURE.length + 8;
const TRAILER = 0xffff;
const USUAL_BYTES = 256 << 10;
/**
 * Size from which a buffer is exactly as large as the tuple needs: half of it again would be the largest
 * thing in memory.
 */
const EXACT_BYTES = 8 << 20;

/**
 * Finds tuples in the stream of `COPY … TO STDOUT (FORMAT binary)` without copying fields or making strings:
 * `push` the received chunk, then call `next` until it is false. It holds one buffer, as large as the largest
 * tuple needs.
 */
export class CopyBinaryReader implements Tuple {
  readonly offsets: Int32Array;
  readonly lengths: Int32Array;
  #bytes = Buffer.allocUnsafeSlow(USUAL_BYTES);
  #start = 0;
  #end = 0;
  /** Bytes that the tuple at `#start` is known to need: it is not looked at again before they are there. */
  #needed = 0;
  #hasHeader = false;
  #isFinished = false;

  constructor(fields: number) {
    this.offsets = new Int32Array(fields);
    this.lengths = new Int32Array(fields);
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** True once the trailer was read: without it the stream was cut. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  push(chunk: Buffer): void {
    this.#makeRoom(chunk.length);
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /** @throws CopyFormatError */
  next(): boolean {
    if (this.#isFinished || this.#end - this.#start < this.#needed) return false;
    if (!this.#hasHeader && !this.#readHeader()) return false;
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#start;
    if (at + 2 > end) return false;
    const count = bytes.readUInt16BE(at);
    at += 2;
    if (count === TRAILER) {
      this.#isFinished = true;
      return false;
    }
    if (count !== this.offsets.length)
      throw new CopyFormatError(`a row has ${count} fields instead of ${this.offsets.length}`);
    for (let field = 0; field < count; field++) {
      if (at + 4 > end) return this.#wait(at + 4);
      const length = bytes.readInt32BE(at);
      at += 4;
      this.offsets[field] = at;
      this.lengths[field] = length;
      if (length > 0) at += length;
      if (at > end) return this.#wait(at);
    }
    this.#start = at;
    this.#needed = 0;
    return true;
  }

  #wait(until: number): false {
    this.#needed = until - this.#start;
    return false;
  }

  #readHeader(): boolean {
    if (this.#end < HEADER_BYTES) return false;
    if (this.#bytes.compare(SIGNATURE, 0, SIGNATURE.length, 0, SIGNATURE.length) !== 0)
      throw new CopyFormatError('the stream does not begin as COPY in binary format does');
    const extension = this.#bytes.readInt32BE(HEADER_BYTES - 4);
    if (this.#end < HEADER_BYTES + extension) return false;
    this.#start = HEADER_BYTES + extension;
    this.#hasHeader = true;
    return true;
  }

  #makeRoom(count: number): void {
    const waiting = this.#end - this.#start;
    const wanted = Math.max(waiting + count, this.#needed);
    const isOversized = this.#bytes.length > 4 * USUAL_BYTES && wanted <= USUAL_BYTES;
    if (!isOversized && this.#end + count <= this.#bytes.length) return;
    if (wanted > this.#bytes.length || isOversized) {
      const spare = wanted > EXACT_BYTES ? USUAL_BYTES : wanted >> 1;
      const capacity = wanted <= USUAL_BYTES ? USUAL_BYTES : wanted + spare;
      const other = Buffer.allocUnsafeSlow(capacity);
      this.#bytes.copy(other, 0, this.#start, this.#end);
      this.#bytes = other;
    } else this.#bytes.copyWithin(0, this.#start, this.#end);
    this.#start = 0;
    this.#end = waiting;
  }
}
