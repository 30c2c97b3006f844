import { constants, createZstdCompress } from 'node:zlib';

const CHUNK_BYTES = 256 << 10;
/**
 * Level 3 with a table of long matches twice as large, one of short matches a quarter, and these from 4 bytes on: less CPU
 * and 1 % smaller (docs/benchmarks.md).
 */
const PARAMETERS: Readonly<Record<number, number>> = {
  [constants.ZSTD_c_compressionLevel]: 3,
  [constants.ZSTD_c_hashLog]: 18,
  [constants.ZSTD_c_chainLog]: 14,
  [constants.ZSTD_c_minMatch]: 4,
};
/** A frame of no more is compressed from one buffer: a longer one, of a ring, costs a tenth more CPU. */
const NEAR: Readonly<Record<number, number>> = { ...PARAMETERS, [constants.ZSTD_c_windowLog]: 22 };
const FAR: Readonly<Record<number, number>> = {
  ...PARAMETERS,
  /**
   * Agents send their history again with each call, which finds the last one within 2 MiB mostly. With 8 MiB conversations
   * become 14 % smaller, for a third more CPU with everything else.
   */
  [constants.ZSTD_c_windowLog]: 21,
  [constants.ZSTD_c_enableLongDistanceMatching]: 1,
};

/** Frames of zstd, one after another, with one context whose memory is taken with the first. One call at a time. */
export class FrameStream {
  readonly #stream;

  /**
   * @param looksBack finds what comes again anywhere in its window (long-distance matching), in frames of any length; else
   *   frames had better not be longer than 4 MiB
   * @param take is handed what was compressed, at once; the buffer must not be kept
   */
  constructor(looksBack: boolean, take: (piece: Buffer) => void) {
    this.#stream = createZstdCompress({ params: looksBack ? FAR : NEAR, chunkSize: CHUNK_BYTES });
    this.#stream.on('data', take);
    // failures reach the caller through the callback of the write
    this.#stream.on('error', () => undefined);
  }

  /** The piece must not change until this resolves. */
  write(piece: Buffer): Promise<void> {
    return this.#do((done) => this.#stream.write(piece, done));
  }

  /** Ends the frame. */
  end(): Promise<void> {
    return this.#do((done) => this.#stream.flush(constants.ZSTD_e_end, () => done(this.#stream.errored)));
  }

  /** Frees the context at once instead of with some later collection. */
  close(): void {
    this.#stream.destroy();
  }

  #do(work: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      work((error) => {
        // reading hands out the output that the stream still holds
        while (this.#stream.read() !== null);
        if (error) reject(error);
        else resolve();
      });
    });
  }
}
