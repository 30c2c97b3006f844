import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { compress as snappyCompress } from 'snappyjs';
import type { BlockPool } from './block-chain.js';
import type { PageBody } from './page.js';
import { Lanes, type PageCompressor, ZstdLane } from './lanes.js';
import { ZstdPage } from './zstd-page.js';

export type Compression = 'none' | 'gzip' | 'snappy' | 'zstd';

/** Numbers of parquet.thrift. */
export const CODEC: Readonly<Record<Compression, number>> = { none: 0, snappy: 1, gzip: 2, zstd: 6 };

/** Content of a page: values of few bytes, or texts. */
export type PageContent = 'values' | 'texts';

/**
 * Level of zstd. Ids and times take a third of the CPU of level 3 at level 1, and are smaller: chance
 * repetitions of some digits cost more than the digits (docs/benchmarks.md).
 */
const ZSTD_LEVEL: Readonly<Record<PageContent, number>> = { values: 1, texts: 3 };

/** Level 6 costs twice the time for 5 % less. */
const GZIP_LEVEL = 3;
/** Size of the pieces of gzip, few because each one travels between the threads. */
const GZIP_CHUNK_BYTES = 256 << 10;

/** Compressors of one kind; Node has four threads, and most machines give a worker less than that. */
const LANES = 3;

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
  /** Uncompressed bytes so far. */
  readonly bytes: number;
  /**
   * The piece must not change until this resolves.
   * @param isBorrowed the compressor is busy until then: the piece belongs to the reader of rows
   */
  write(piece: Buffer, isBorrowed?: boolean): Promise<void>;
  /** Ends the page. @returns its bytes: `before`, then all that was written */
  end(before: Buffer): Promise<PageBody>;
}

export interface LongPage {
  readonly looksBack: boolean;
  /** True when this page is to show whether looking back pays. */
  readonly isTried: boolean;
}

/** Compresses several pages at a time. */
export class Compressor {
  /** True when pages can be long: a compression that does not look back far gains nothing by them. */
  readonly hasLongPages: boolean;
  readonly #maxPendingBytes: number;
  readonly #lanes: Readonly<Record<PageContent, Lanes>>;
  readonly #blocks: BlockPool;
  /** Contexts for long pages, and those of them that have none. */
  readonly #contexts = new Set<ZstdPage>();
  readonly #idle: ZstdPage[] = [];
  readonly #running = new Set<Promise<void>>();
  #pendingBytes = 0;
  #borrowed = 0;

  /** @param maxPendingBytes uncompressed, from which on it is busy */
  constructor(compression: Compression, maxPendingBytes: number, blocks: BlockPool) {
    this.hasLongPages = compression === 'zstd';
    this.#maxPendingBytes = maxPendingBytes;
    this.#blocks = blocks;
    const lanes = (content: PageContent): Lanes =>
      new Lanes(() => pageCompressor(compression, content), LANES);
    this.#lanes = { values: lanes('values'), texts: lanes('texts') };
  }

  /** True when enough waits for the threads, or a row is still being read. */
  get isBusy(): boolean {
    return this.#pendingBytes >= this.#maxPendingBytes || this.#borrowed > 0;
  }

  /** The page must not change until its pieces are there. */
  compress(page: Buffer, content: PageContent): Promise<readonly Buffer[]> {
    const result = this.#lanes[content].compress(page);
    this.#track(result, page.length);
    return result;
  }

  /** Begins a long page. */
  openPage({ looksBack, isTried }: LongPage): PageStream {
    const context = (looksBack ? undefined : this.#idle.pop()) ?? new ZstdPage(looksBack, this.#blocks);
    this.#contexts.add(context);
    if (isTried) context.try();
    return {
      get bytes() {
        return context.bytes;
      },
      write: (piece, isBorrowed = false) => {
        const written = context.write(piece);
        this.#track(written, piece.length, isBorrowed);
        return written;
      },
      end: async (before) => {
        const body = await context.end(before);
        // pages that look back are few and long: another context for each costs less than the memory of an idle one
        if (looksBack) this.#forget(context);
        else this.#idle.push(context);
        return body;
      },
    };
  }

  #forget(context: ZstdPage): void {
    this.#contexts.delete(context);
    context.close();
  }

  #track(work: Promise<unknown>, bytes: number, isBorrowed = false): void {
    this.#pendingBytes += bytes;
    if (isBorrowed) this.#borrowed++;
    const end = (): void => {
      this.#pendingBytes -= bytes;
      if (isBorrowed) this.#borrowed--;
      this.#running.delete(settled);
    };
    const settled = work.then(end, end);
    this.#running.add(settled);
  }

  close(): void {
    for (const lanes of Object.values(this.#lanes)) lanes.close();
    for (const context of this.#contexts) context.close();
  }

  /** Resolves when it is not busy any more. */
  async room(): Promise<void> {
    while (this.isBusy) await Promise.race(this.#running);
  }
}
