import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { compress as snappyCompress } from 'snappyjs';
import type { BlockPool } from './block-chain.js';
import type { PageBody } from './page-body.js';
import { ZstdLane } from './zstd-lane.js';
import { ZstdPage } from './zstd-page.js';

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

/** A page that is compressed piece by piece. */
export interface PageStream {
  /** Uncompressed bytes of the open page so far. */
  readonly bytes: number;
  /**
   * The piece must not change until this resolves.
   * @param isBorrowed the compressor is busy until then: the piece belongs to the reader of rows
   */
  write(piece: Buffer, isBorrowed?: boolean): Promise<void>;
  /** Ends the page. @returns its bytes: `before`, then all that was written */
  end(before: Buffer): Promise<PageBody>;
}

/** Compresses several pages at a time. */
export class Compressor {
  readonly #compression: Compression;
  readonly #streams: ZstdPage[] = [];
  readonly #lanes: { pages: PageCompressor; tail: Promise<unknown> }[];
  #pages = 0;
  readonly #running = new Set<Promise<unknown>>();
  readonly #borrowing = new Set<Promise<unknown>>();

  /** @param parallel pages in work at a time */
  constructor(compression: Compression, parallel: number) {
    this.#compression = compression;
    this.#lanes = Array.from({ length: parallel }, () => ({
      pages: pageCompressor(compression),
      tail: Promise.resolve(),
    }));
  }

  /** True when there is as much work as there are lanes, or a row is still being read. */
  get isBusy(): boolean {
    return this.#running.size >= this.#lanes.length || this.#borrowing.size > 0;
  }

  /** The page must not change until its pieces are there. */
  compress(page: Buffer): Promise<readonly Buffer[]> {
    const lane = this.#lanes[this.#pages++ % this.#lanes.length];
    if (!lane) throw new Error('compressing a page failed: the compression is closed');
    const result = lane.tail.then(() => lane.pages.compress(page));
    lane.tail = this.#track(result);
    return result;
  }

  /** For the long pages of one column; undefined where pages are short because a compression does not look back far. */
  openStream(blocks: BlockPool): PageStream | undefined {
    if (this.#compression !== 'zstd') return undefined;
    const stream = new ZstdPage(blocks);
    this.#streams.push(stream);
    return {
      get bytes() {
        return stream.bytes;
      },
      write: (piece, isBorrowed = false) => {
        const written = stream.write(piece);
        void this.#track(written, isBorrowed ? this.#borrowing : this.#running);
        return written;
      },
      end: (before) => stream.end(before),
    };
  }

  /** Counts it among what is running. @returns what resolves when it has ended, however */
  #track(work: Promise<unknown>, among = this.#running): Promise<unknown> {
    const settled: Promise<unknown> = work.then(
      () => among.delete(settled),
      () => among.delete(settled),
    );
    among.add(settled);
    return settled;
  }

  close(): void {
    for (const { pages } of this.#lanes) pages.close?.();
    for (const stream of this.#streams) stream.close();
  }

  /** Resolves when a lane is free and no row is read any more. */
  async room(): Promise<void> {
    await Promise.all(this.#borrowing);
    while (this.#running.size >= this.#lanes.length) await Promise.race(this.#running);
  }
}
