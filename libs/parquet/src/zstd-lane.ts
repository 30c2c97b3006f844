import { constants, createZstdCompress } from 'node:zlib';

const LEVEL = 3;
const CHUNK_BYTES = 256 << 10;

/**
 * Compresses page after page in Node's thread pool with one context. Calling `zstdCompress` for each page costs a new
 * context and an output buffer each time, whose collection took more time than everything else on the main thread; and
 * with its default of 16 KiB a page came back in a dozen pieces, each a trip between the threads.
 */
export class ZstdLane {
  /** Every write is a whole frame, with its size in the header. */
  readonly #stream = createZstdCompress({
    params: { [constants.ZSTD_c_compressionLevel]: LEVEL },
    flush: constants.ZSTD_e_end,
    chunkSize: CHUNK_BYTES,
  });
  #pieces: Buffer[] = [];

  constructor() {
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
        // what the stream still holds is handed out by reading
        while (this.#stream.read() !== null);
        const pieces = this.#pieces;
        this.#pieces = [];
        if (error) reject(error);
        else resolve(pieces);
      });
    });
  }
}
