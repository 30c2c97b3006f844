import { constants, createZstdCompress } from 'node:zlib';
import { BlockChain, type BlockPool } from './block-chain.js';
import type { PageBody } from './page-body.js';

const LEVEL = 3;
const CHUNK_BYTES = 256 << 10;
/**
 * Agents send their history again with each call, which finds the last one within 2 MiB mostly. With 8 MiB conversations
 * become 14 % smaller, for a third more CPU with everything else (docs/benchmarks.md).
 */
const WINDOW_LOG = 21;

/** Of RFC 8878. */
const MAGIC_BYTES = 4;
/** The header that zstd writes when it knows no size: magic, descriptor, window. */
const HEADER_BYTES = MAGIC_BYTES + 2;
const SIZE_IN_4_BYTES = 0x80;
const MAX_BLOCK_BYTES = 128 << 10;

/**
 * Compresses long pages while they are written, so that nothing but the window is held of one. Page after page, with one
 * context; memory is taken with the first.
 *
 * A page begins with its levels, which are known last. They are put before what was compressed as a block of their own
 * that is not: blocks refer to each other by distance, so one more before all of them changes nothing.
 */
export class ZstdPage {
  readonly #stream = createZstdCompress({
    params: {
      [constants.ZSTD_c_compressionLevel]: LEVEL,
      [constants.ZSTD_c_windowLog]: WINDOW_LOG,
      [constants.ZSTD_c_enableLongDistanceMatching]: 1,
    },
    chunkSize: CHUNK_BYTES,
  });
  readonly #pool: BlockPool;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerLength = 0;
  /** What was compressed so far, behind its header: in blocks at once, so that no second copy waits for the end of the page. */
  #body: BlockChain;
  #bytes = 0;
  #tail: Promise<void> = Promise.resolve();

  constructor(pool: BlockPool) {
    this.#pool = pool;
    this.#body = new BlockChain(pool);
    this.#stream.on('data', (piece: Buffer) => this.#take(piece));
    // failures reach the caller through the callback of the write
    this.#stream.on('error', () => undefined);
  }

  /** Uncompressed bytes of the open page so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The piece must not change until this resolves. */
  write(piece: Buffer): Promise<void> {
    this.#bytes += piece.length;
    return this.#inTurn((done) => this.#stream.write(piece, done));
  }

  /** Ends the page. @returns one frame: `before`, then all that was written */
  async end(before: Buffer): Promise<PageBody> {
    const bytes = before.length + this.#bytes;
    this.#bytes = 0;
    let ended: PageBody | undefined;
    await this.#inTurn((done) =>
      this.#stream.flush(constants.ZSTD_e_end, () => {
        this.#drain();
        if (this.#headerLength === HEADER_BYTES)
          ended = { pieces: frameStart(this.#header, before, bytes), rest: this.#body };
        this.#body = new BlockChain(this.#pool);
        this.#headerLength = 0;
        done(this.#stream.errored);
      }),
    );
    if (!ended) throw new Error('compressing a page failed: zstd gave nothing');
    return ended;
  }

  #take(piece: Buffer): void {
    const copied = piece.copy(this.#header, this.#headerLength);
    this.#headerLength += copied;
    this.#body.append(piece.subarray(copied));
  }

  /** Frees the context at once instead of with some later collection. */
  close(): void {
    this.#stream.destroy();
  }

  #inTurn(work: (done: (error?: Error | null) => void) => void): Promise<void> {
    const mine = this.#tail.then(
      () =>
        new Promise<void>((resolve, reject) => {
          work((error) => {
            this.#drain();
            if (error) reject(error);
            else resolve();
          });
        }),
    );
    this.#tail = mine.catch(() => undefined);
    return mine;
  }

  /** What the stream still holds is handed out by reading. */
  #drain(): void {
    while (this.#stream.read() !== null);
  }
}

/** The header of a frame with the size that it will have, and blocks with `before`. */
function frameStart(written: Buffer, before: Buffer, bytes: number): Buffer[] {
  const descriptor = written[MAGIC_BYTES] ?? 0;
  // without the size, which it cannot know, a checksum or a dictionary, a header is the descriptor and the window
  if (descriptor !== 0) throw new Error(`compressing a page failed: the frame begins with ${descriptor}`);
  const header = Buffer.alloc(MAGIC_BYTES + 6);
  written.copy(header);
  header[MAGIC_BYTES] = SIZE_IN_4_BYTES;
  header.writeUInt32LE(bytes, MAGIC_BYTES + 2);
  const pieces: Buffer[] = [header];
  for (let at = 0; at < before.length; at += MAX_BLOCK_BYTES) {
    const block = before.subarray(at, at + MAX_BLOCK_BYTES);
    const blockHeader = Buffer.alloc(3);
    // not the last one, of raw bytes
    blockHeader.writeUIntLE(block.length << 3, 0, 3);
    pieces.push(blockHeader, block);
  }
  return pieces;
}
