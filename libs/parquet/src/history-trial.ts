import { FrameStream } from './frame-stream.js';

/** The window: what comes before has little to look back at, and is not compared. */
const SKIPPED_BYTES = 2 << 20;
/** Where a trial ends. */
const SAMPLE_BYTES = 8 << 20;
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
  #skipped: { readonly here: number; readonly page: number } | undefined;
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
    if (this.#read >= SKIPPED_BYTES) this.#skipped ??= { here: this.#made, page: made };
    if (this.#read < SAMPLE_BYTES || !this.#skipped) return;
    const here = this.#made - this.#skipped.here;
    const page = made - this.#skipped.page;
    this.#isBetter = this.#looksBack ? here <= WORTH * page : page > WORTH * here;
    this.close();
  }

  close(): void {
    this.#stream.close();
  }
}
