import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { compress as snappyCompress } from 'snappyjs';
import type { BlockPool } from './block-chain.js';
import type { PageBody } from './page-body.js';
import { Lanes, type PageCompressor } from './lanes.js';
import { ZstdLane } from './zstd-lane.js';
import { ZstdPage } from './zstd-page.js';

export type Compression = 'none' | 'gzip' | 'snappy' | 'zstd';

/** Numbers of parquet.thrift. */
export const CODEC: Readonly<Record<Compression, number>> = { none: 0, snappy: 1, gzip: 2, zstd: 6 };

/** What a page holds: values of few bytes, or texts. */
export type PageContent = 'values' | 'texts';

/**
 * Of zstd. Ids and times take a third of the CPU of level 3 at level 1, and are smaller: chance repetitions of some digits
 * cost more than the digits (docs/benchmarks.md).
 */
const ZSTD_LEVEL: Readonly<Record<PageContent, number>> = { values: 1, texts: 3 };

/** Level 6 costs twice the time for 5 % less. */
const GZIP_LEVEL = 3;
/** In few pieces: each one travels between the threads. */
const GZIP_CHUNK_BYTES = 256 << 10;

const gzipPage = promisify(gzip);

function pageCompressor(compression: Compression, content: PageContent): PageCompressor {
  switch (compression) {
    case 'none':
      return { compress: (page) => Promise.resolve([page]) };
    case 'zstd':
      return new ZstdLane(ZSTD_LEVEL[content]);
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
  readonly #parallel: number;
  readonly #streams: ZstdPage[] = [];
  readonly #lanes: Readonly<Record<PageContent, Lanes>>;
  readonly #running = new Set<Promise<unknown>>();
  readonly #borrowing = new Set<Promise<unknown>>();

  /** @param parallel pages in work at a time */
  constructor(compression: Compression, parallel: number) {
    this.#compression = compression;
    this.#parallel = parallel;
    const lanes = (content: PageContent): Lanes =>
      new Lanes(() => pageCompressor(compression, content), parallel);
    this.#lanes = { values: lanes('values'), texts: lanes('texts') };
  }

  /** True when there is as much work as there are lanes, or a row is still being read. */
  get isBusy(): boolean {
    return this.#running.size >= this.#parallel || this.#borrowing.size > 0;
  }

  /** The page must not change until its pieces are there. */
  compress(page: Buffer, content: PageContent): Promise<readonly Buffer[]> {
    const result = this.#lanes[content].compress(page);
    void this.#track(result);
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
    for (const lanes of Object.values(this.#lanes)) lanes.close();
    for (const stream of this.#streams) stream.close();
  }

  /** Resolves when a lane is free and no row is read any more. */
  async room(): Promise<void> {
    await Promise.all(this.#borrowing);
    while (this.#running.size >= this.#parallel) await Promise.race(this.#running);
  }
}
