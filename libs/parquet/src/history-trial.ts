import { FrameStream } from './frame-stream.js';

/** Size of a frame, that of a page that does not look back. */
const FRAME_BYTES = 4 << 20;
/** Looking back costs a fifth of the compression, so it must save more than this of the bytes. */
const WORTH = 1.05;

/**
 * Compresses the beginning of a page that looks back a second time, as pages that do not, and says which way
 * is better for pages like it. The output is thrown away. It depends on nothing but the bytes: equal rows
 * make equal files.
 *
 * The second frame of 4 MiB decides: the one before has little to look back at.
 */
export class HistoryTrial {
  readonly #stream = new FrameStream(false, (piece) => (this.#made += piece.length));
  #read = 0;
  #made = 0;
  #first: { readonly here: number; readonly page: number } | undefined;
  #pays: boolean | undefined;

  /** Undefined while too little was seen. */
  get pays(): boolean | undefined {
    return this.#pays;
  }

  /** @param made bytes that the page has become so far, this piece included */
  async write(piece: Buffer, made: number): Promise<void> {
    if (this.#read >= 2 * FRAME_BYTES) return;
    // a huge value says nothing of what comes again
    if (piece.length >= FRAME_BYTES) return this.#giveUp();
    await this.#stream.write(piece);
    this.#read += piece.length;
    if (this.#read < (this.#first ? 2 * FRAME_BYTES : FRAME_BYTES)) return;
    await this.#stream.end();
    if (this.#first) this.#pays = this.#made - this.#first.here > WORTH * (made - this.#first.page);
    else this.#first = { here: this.#made, page: made };
    if (this.#read >= 2 * FRAME_BYTES) this.close();
  }

  #giveUp(): void {
    this.#read = 2 * FRAME_BYTES;
    this.close();
  }

  close(): void {
    this.#stream.close();
  }
}
