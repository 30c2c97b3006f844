import { constants, createZstdCompress } from 'node:zlib';

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
  readonly #lanes: Lane[] = [];
  #pages = 0;

  constructor(
    private readonly open: () => PageCompressor,
    private readonly most: number,
  ) {}

  /** The page must not change until its pieces are there. */
  compress(page: Buffer): Promise<readonly Buffer[]> {
    const at = this.#pages++ % this.most;
    const lane = (this.#lanes[at] ??= { pages: this.open(), tail: Promise.resolve() });
    const result = lane.tail.then(() => lane.pages.compress(page));
    lane.tail = result.catch(() => undefined);
    return result;
  }

  close(): void {
    for (const { pages } of this.#lanes) pages.close?.();
  }
}

const CHUNK_BYTES = 256 << 10;

/**
 * Compresses page after page in Node's thread pool with one context. Calling `zstdCompress` for each page costs a new
 * context and an output buffer each time, whose collection took more time than everything else on the main thread; and
 * with its default of 16 KiB a page came back in a dozen pieces, each a trip between the threads.
 */
export class ZstdLane {
  readonly #stream;
  #pieces: Buffer[] = [];

  /** @param level of zstd */
  constructor(level: number) {
    // every write is a whole frame, with its size in the header
    this.#stream = createZstdCompress({
      params: { [constants.ZSTD_c_compressionLevel]: level },
      flush: constants.ZSTD_e_end,
      chunkSize: CHUNK_BYTES,
    });
    this.#stream.on('data', (piece: Buffer) => this.#pieces.push(piece));
    // failures reach the caller through the callback of the write
    this.#stream.on('error', () => undefined);
  }

  /** Frees the context at once instead of with some later collection. */
  close(): void {
    this.#stream.destroy();
  }

  /** One page at a time. */
  compress(page: Buffer): Promise<readonly Buffer[]> {
    return new Promise((resolve, reject) => {
      this.#stream.write(page, (error) => {
        // reading hands out the output that the stream still holds
        while (this.#stream.read() !== null);
        const pieces = this.#pieces;
        this.#pieces = [];
        if (error) reject(error);
        else resolve(pieces);
      });
    });
  }
}
