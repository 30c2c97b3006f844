import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { compress as snappyCompress } from 'snappyjs';
import { ZstdLane } from './zstd-lane.js';

export type Compression = 'none' | 'gzip' | 'snappy' | 'zstd';

/** Numbers of parquet.thrift. */
export const CODEC: Readonly<Record<Compression, number>> = { none: 0, snappy: 1, gzip: 2, zstd: 6 };

/** Level 6 costs twice the time for 5 % less. */
const GZIP_LEVEL = 3;
/** In few pieces: each one travels between the threads. */
const GZIP_CHUNK_BYTES = 256 << 10;

/** Compresses pages, one at a time, off the main thread where Node can. */
interface PageCompressor {
  compress(page: Buffer): Promise<readonly Buffer[]>;
  close?(): void;
}

const gzipPage = promisify(gzip);

function pageCompressor(compression: Compression): PageCompressor {
  switch (compression) {
    case 'none':
      return { compress: (page) => Promise.resolve([page]) };
    case 'zstd':
      return new ZstdLane();
    case 'gzip':
      return {
        compress: async (page) => [await gzipPage(page, { level: GZIP_LEVEL, chunkSize: GZIP_CHUNK_BYTES })],
      };
    case 'snappy':
      return { compress: (page) => Promise.resolve([Buffer.from(snappyCompress(page))]) };
    default:
      return compression satisfies never;
  }
}

/** Compresses several pages at a time. */
export class Compressor {
  readonly #lanes: { pages: PageCompressor; tail: Promise<unknown> }[];
  #pages = 0;
  readonly #running = new Set<Promise<unknown>>();

  /** @param parallel pages in work at a time */
  constructor(compression: Compression, parallel: number) {
    this.#lanes = Array.from({ length: parallel }, () => ({
      pages: pageCompressor(compression),
      tail: Promise.resolve(),
    }));
  }

  /** True when every lane has work. */
  get isBusy(): boolean {
    return this.#running.size >= this.#lanes.length;
  }

  /** The page must not change until its pieces are there. */
  compress(page: Buffer): Promise<readonly Buffer[]> {
    const lane = this.#lanes[this.#pages++ % this.#lanes.length];
    if (!lane) throw new Error('compressing a page failed: the compression is closed');
    const result = lane.tail.then(() => lane.pages.compress(page));
    const settled: Promise<unknown> = result.then(
      () => this.#running.delete(settled),
      () => this.#running.delete(settled),
    );
    this.#running.add(settled);
    lane.tail = settled;
    return result;
  }

  close(): void {
    for (const { pages } of this.#lanes) pages.close?.();
  }

  /** Resolves when a lane is free. */
  async room(): Promise<void> {
    while (this.isBusy) await Promise.race(this.#running);
  }
}
