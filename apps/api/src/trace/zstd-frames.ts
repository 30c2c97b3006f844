import { EncodingError } from './byte-reader.js';

const FRAME = 0xfd2fb528;
/** The lowest of sixteen magic numbers of frames that decoders skip. */
const SKIPPABLE = 0x184d2a50;
const SINGLE_SEGMENT = 0x20;
const CHECKSUM = 0x04;
const CHECKSUM_BYTES = 4;
const DICTIONARY_BYTES = [0, 1, 2, 4];
const RLE = 1;
const RESERVED = 3;
/** Maximum number of frames. Each costs a run of the decoder, however short; the clients send one. */
const MAX_FRAMES = 1024;
const LONGEST_HEAD = 16;

/** The part that is read next, once it is complete. */
type Head = 'magic' | 'skippable' | 'descriptor' | 'fields' | 'block';

/**
 * Cuts a zstd body where its frames end (RFC 8878, 3.1). A body may have many, whose contents follow each other, but
 * Node's decoder drops the rest of a piece in which a frame ends. It decodes the next frame when that begins a piece.
 * @param begin gets what the decoder must hold for a frame, before the frame is handed on
 * @throws EncodingError
 */
export async function* zstdFrames(
  body: AsyncIterable<Buffer>,
  begin: (windowBytes: number) => void,
): AsyncGenerator<Buffer, void, void> {
  const frames = new Frames(begin);
  for await (const piece of body)
    for (let from = 0; from < piece.length;) {
      const to = frames.advance(piece, from);
      yield piece.subarray(from, to);
      from = to;
    }
  if (!frames.isBetween) throw new EncodingError('the body ends within a zstd frame');
}

/** Follows the heads of frames and blocks: magic → descriptor → fields → block → … → magic, or magic → skippable → magic. */
class Frames {
  readonly #head = Buffer.alloc(LONGEST_HEAD);
  #next: Head = 'magic';
  #wanted = 4;
  #filled = 0;
  /** Bytes that come before the next head. */
  #skip = 0;
  #descriptor = 0;
  #count = 0;

  constructor(private readonly begin: (windowBytes: number) => void) {}

  get isBetween(): boolean {
    return this.#next === 'magic' && this.#filled === 0 && this.#skip === 0;
  }

  /** @returns where the frame ends, or the piece */
  advance(piece: Buffer, from: number): number {
    let at = from;
    while (at < piece.length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, piece.length - at);
        this.#skip -= skipped;
        at += skipped;
      } else if (this.#filled === 0 && piece.length - at >= this.#wanted) {
        // copying heads makes a body of empty blocks thrice as dear
        const head = at;
        at += this.#wanted;
        this.#read(piece, head);
      } else {
        const copied = piece.copy(this.#head, this.#filled, at, at + this.#wanted - this.#filled);
        this.#filled += copied;
        at += copied;
        if (this.#filled === this.#wanted) this.#read(this.#head, 0);
      }
      if (this.isBetween) return at;
    }
    return at;
  }

  #expect(next: Head, wanted: number, skip = 0): void {
    this.#next = next;
    this.#wanted = wanted;
    this.#filled = 0;
    this.#skip = skip;
  }

  #read(from: Buffer, at: number): void {
    switch (this.#next) {
      case 'magic':
        return this.#readMagic(from.readUInt32LE(at));
      case 'skippable':
        return this.#expect('magic', 4, from.readUInt32LE(at));
      case 'descriptor':
        this.#descriptor = from.readUInt8(at);
        return this.#expect('fields', fieldBytes(this.#descriptor));
      case 'fields':
        this.begin(windowOf(this.#descriptor, from, at));
        return this.#expect('block', 3);
      case 'block':
        return this.#readBlock(from.readUIntLE(at, 3));
    }
  }

  #readMagic(magic: number): void {
    if (++this.#count > MAX_FRAMES)
      throw new EncodingError(`the body has more than ${MAX_FRAMES} zstd frames`, true);
    if (magic === FRAME) this.#expect('descriptor', 1);
    else if (magic >>> 4 === SKIPPABLE >>> 4) this.#expect('skippable', 4);
    else throw new EncodingError('the body is not valid zstd: no frame begins where one should');
  }

  #readBlock(block: number): void {
    const kind = (block >> 1) & 3;
    if (kind === RESERVED) throw new EncodingError('the body is not valid zstd: a block has a reserved type');
    const bytes = kind === RLE ? 1 : block >> 3;
    const isLast = (block & 1) === 1;
    if (!isLast) this.#expect('block', 3, bytes);
    else this.#expect('magic', 4, bytes + ((this.#descriptor & CHECKSUM) === 0 ? 0 : CHECKSUM_BYTES));
  }
}

const isSingle = (descriptor: number): boolean => (descriptor & SINGLE_SEGMENT) !== 0;
const dictionaryBytes = (descriptor: number): number => DICTIONARY_BYTES[descriptor & 3] ?? 0;

/** Bytes of the content's size. */
function sizeBytes(descriptor: number): number {
  const flag = descriptor >> 6;
  return flag === 0 && !isSingle(descriptor) ? 0 : 2 ** flag;
}

function fieldBytes(descriptor: number): number {
  return (isSingle(descriptor) ? 0 : 1) + dictionaryBytes(descriptor) + sizeBytes(descriptor);
}

/** Size of the history that the decoder must hold. A single segment is held whole. */
function windowOf(descriptor: number, fields: Buffer, from: number): number {
  if (!isSingle(descriptor)) {
    const window = fields.readUInt8(from);
    const base = 2 ** (10 + (window >> 3));
    return base + (base / 8) * (window & 7);
  }
  const at = from + dictionaryBytes(descriptor);
  const bytes = sizeBytes(descriptor);
  if (bytes === 8) return Number(fields.readBigUInt64LE(at));
  return fields.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}
