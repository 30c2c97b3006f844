import { BlockChain, type BlockPool } from './block-chain.js';
import { FrameStream } from './frame-stream.js';
import { HistoryTrial } from './history-trial.js';
import type { PageBody } from './page.js';

/** Constants of RFC 8878. */
const MAGIC_BYTES = 4;
/** The header that zstd writes when it knows no size: magic, descriptor, window. */
const HEADER_BYTES = MAGIC_BYTES + 2;
const SIZE_IN_4_BYTES = 0x80;
const MAX_BLOCK_BYTES = 128 << 10;

/**
 * Compresses long pages while they are written, so that only the window of one is held. Page after page, with
 * one context.
 *
 * A page begins with its levels, which are known last. They are put before the compressed data as a block of
 * their own that is not compressed: blocks refer to each other by distance, so one more before all of them
 * changes nothing.
 */
export class ZstdPage {
  readonly #pool: BlockPool;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  readonly #stream: FrameStream;
  #headerLength = 0;
  /**
   * The compressed data so far, behind its header: in blocks at once, so that no second copy waits for the
   * end of the page.
   */
  #body: BlockChain;
  #trial: HistoryTrial | undefined;
  #bytes = 0;
  #tail: Promise<void> = Promise.resolve();

  constructor(looksBack: boolean, pool: BlockPool) {
    this.#pool = pool;
    this.#body = new BlockChain(pool);
    this.#stream = new FrameStream(looksBack, (piece) => this.#take(piece));
  }

  /** Uncompressed bytes of the open page so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Begins a trial of looking back; must be called before the first piece of a page. */
  try(): void {
    this.#trial = new HistoryTrial();
  }

  /** The piece must not change until this resolves. */
  write(piece: Buffer): Promise<void> {
    this.#bytes += piece.length;
    return this.#inTurn(async () => {
      await this.#stream.write(piece);
      await this.#trial?.write(piece, this.#body.length);
    });
  }

  /** Ends the page. @returns one frame: `before`, then all that was written */
  async end(before: Buffer): Promise<PageBody> {
    const bytes = before.length + this.#bytes;
    this.#bytes = 0;
    return this.#inTurn(async () => {
      await this.#stream.end();
      if (this.#headerLength < HEADER_BYTES) throw new Error('compressing a page failed: zstd gave nothing');
      const pieces = frameStart(this.#header, before, bytes);
      const ended = { pieces, rest: this.#body, lookingBackPays: this.#trial?.pays };
      this.#body = new BlockChain(this.#pool);
      this.#headerLength = 0;
      this.#trial?.close();
      this.#trial = undefined;
      return ended;
    });
  }

  /** Frees the context at once instead of with some later collection. */
  close(): void {
    this.#stream.close();
    this.#trial?.close();
  }

  #take(piece: Buffer): void {
    const copied = piece.copy(this.#header, this.#headerLength);
    this.#headerLength += copied;
    this.#body.append(piece.subarray(copied));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#tail.then(work);
    this.#tail = mine.then(
      () => undefined,
      () => undefined,
    );
    return mine;
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
