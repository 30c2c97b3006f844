import { FrameStream } from './frame-stream.js';

/** What a trial looks at; twice the window. */
const SAMPLE_BYTES = 4 << 20;
/** Looking back costs a fifth of the compression, so it must save more than this of the bytes. */
const WORTH = 1.05;

/**
 * Compresses the beginning of a page the other way as well, looking back or not, and says which way is better for pages like
 * it. What it makes is thrown away. Depends on nothing but the bytes: equal rows make equal files.
 */
export class HistoryTrial {
  readonly #looksBack: boolean;
  readonly #stream: FrameStream;
  #read = 0;
  #made = 0;
  #isBetter = false;

  /** @param looksBack whether the page itself is compressed so */
  constructor(looksBack: boolean) {
    this.#looksBack = looksBack;
    this.#stream = new FrameStream(!looksBack, (piece) => (this.#made += piece.length));
  }

  /** Whether pages like this one had better be compressed the other way; false while too little was seen. */
  get isBetter(): boolean {
    return this.#isBetter;
  }

  /** @param made bytes that the page has become so far, this piece included */
  async write(piece: Buffer, made: number): Promise<void> {
    if (this.#read >= SAMPLE_BYTES) return;
    await this.#stream.write(piece);
    this.#read += piece.length;
    if (this.#read < SAMPLE_BYTES) return;
    this.#isBetter = this.#looksBack ? this.#made <= WORTH * made : made > WORTH * this.#made;
    this.close();
  }

  close(): void {
    this.#stream.close();
  }
}
