import { constants, createGzip, createZstdCompress } from 'node:zlib';
import type { Transform } from 'node:stream';
import type { FileSink } from '../file-writer.js';

/** Compression of files of lines. */
export type LineCodec = 'none' | 'gzip' | 'zstd';

const CHUNK_BYTES = 256 << 10;
const GZIP_LEVEL = 3;
/**
 * Level 3 with larger tables of long matches, smaller ones of short matches, and these from 5 bytes on. The names of fields,
 * which come again with each line, lead to the history of a conversation well enough: looking back with long-distance
 * matching makes files 4 % smaller there, for twice the CPU, and saves nothing elsewhere (docs/benchmarks.md).
 */
const ZSTD = {
  [constants.ZSTD_c_compressionLevel]: 3,
  [constants.ZSTD_c_windowLog]: 21,
  [constants.ZSTD_c_hashLog]: 18,
  [constants.ZSTD_c_chainLog]: 14,
  [constants.ZSTD_c_minMatch]: 5,
};

function openStream(codec: LineCodec): Transform | undefined {
  switch (codec) {
    case 'none':
      return undefined;
    case 'gzip':
      return createGzip({ level: GZIP_LEVEL, chunkSize: CHUNK_BYTES });
    case 'zstd':
      return createZstdCompress({ params: ZSTD, chunkSize: CHUNK_BYTES });
    default:
      return codec satisfies never;
  }
}

/** Compresses a file as one stream, in Node's thread pool, and hands its bytes on piece by piece. */
export class LineCompression {
  readonly #stream: Transform | undefined;
  readonly #sink: FileSink;
  #pieces: Buffer[] = [];

  constructor(codec: LineCodec, sink: FileSink) {
    this.#sink = sink;
    this.#stream = openStream(codec);
    this.#stream?.on('data', (piece: Buffer) => this.#pieces.push(piece));
    // failures reach the caller through the callback of the write
    this.#stream?.on('error', () => undefined);
  }

  /** The bytes must not change until this resolves. */
  async write(bytes: Buffer): Promise<void> {
    const stream = this.#stream;
    if (!stream) return this.#sink(bytes);
    await new Promise<void>((resolve, reject) => {
      stream.write(bytes, (error) => {
        // reading hands out the output that the stream still holds
        while (stream.read() !== null);
        if (error) reject(error);
        else resolve();
      });
    });
    await this.#handOn();
  }

  async end(): Promise<void> {
    const stream = this.#stream;
    if (!stream) return;
    await new Promise<void>((resolve, reject) => {
      stream.once('end', resolve).once('error', reject);
      stream.end();
    });
    await this.#handOn();
  }

  /** Frees the context at once instead of with some later collection. */
  close(): void {
    this.#stream?.destroy();
  }

  async #handOn(): Promise<void> {
    const pieces = this.#pieces;
    this.#pieces = [];
    for (const piece of pieces) await this.#sink(piece);
  }
}
