/** Compresses pages, one at a time, off the main thread where Node can. */
export interface PageCompressor {
  compress(page: Buffer): Promise<readonly Buffer[]>;
  close?(): void;
}

interface Lane {
  readonly pages: PageCompressor;
  tail: Promise<unknown>;
}

/** Compressors of one kind, which take pages in turns. Each is opened with its first page. */
export class Lanes {
  readonly #open: () => PageCompressor;
  readonly #most: number;
  readonly #lanes: Lane[] = [];
  #pages = 0;

  constructor(open: () => PageCompressor, most: number) {
    this.#open = open;
    this.#most = most;
  }

  /** The page must not change until its pieces are there. */
  compress(page: Buffer): Promise<readonly Buffer[]> {
    const at = this.#pages++ % this.#most;
    const lane = (this.#lanes[at] ??= { pages: this.#open(), tail: Promise.resolve() });
    const result = lane.tail.then(() => lane.pages.compress(page));
    lane.tail = result.catch(() => undefined);
    return result;
  }

  close(): void {
    for (const { pages } of this.#lanes) pages.close?.();
  }
}
