import type { BlockChain } from './block-chain.js';
import { ThriftWriter } from './thrift-writer.js';

/** A page as it is written, behind its header: pieces, then what waits in blocks already. */
export interface PageBody {
  readonly pieces: readonly Buffer[];
  readonly rest?: BlockChain;
  /**
   * Result of a trial of looking back on this page; undefined without a trial, or when the page was too
   * short.
   */
  readonly lookingBackPays?: boolean | undefined;
}

/** Numbers of parquet.thrift. */
export const PAGE_TYPE = { data: 0, dictionary: 2 } as const;
export const ENCODING = { plain: 0, rle: 3, rleDictionary: 8 } as const;

interface PageHeader {
  readonly type: number;
  /** Nulls and empty lists count. */
  readonly values: number;
  readonly encoding: number;
  readonly uncompressedBytes: number;
  readonly compressedBytes: number;
  /** CRC-32 of the compressed bytes. */
  readonly checksum: number;
}

/** Header of a page: version 1 pages, since version 2 is still not read everywhere. */
export function renderPageHeader(header: PageHeader): Buffer {
  const isData = header.type === PAGE_TYPE.data;
  const thrift = new ThriftWriter()
    .begin()
    .i32(1, header.type)
    .i32(2, header.uncompressedBytes)
    .i32(3, header.compressedBytes)
    .i32(4, header.checksum | 0)
    .struct(isData ? 5 : 7)
    .i32(1, header.values)
    .i32(2, header.encoding);
  if (isData) thrift.i32(3, ENCODING.rle).i32(4, ENCODING.rle);
  return thrift.end().end().bytes;
}

/** Space before the values, in which a page's levels usually fit. */
export const HEADROOM = 4096;

const USUAL_BYTES = 32 << 10;

/** Larger buffers were needed for one huge value and are not kept. */
const MAX_KEPT_BYTES = 4 << 20;

/** Pages that are used again, by whichever column needs one next. */
export class PagePool {
  readonly #free: PageBuffer[] = [];

  take(): PageBuffer {
    return this.#free.pop() ?? new PageBuffer();
  }

  give(page: PageBuffer): void {
    page.clear();
    if (page.bytes.length <= MAX_KEPT_BYTES) this.#free.push(page);
  }
}

/** The values of one page in the making, in PLAIN encoding. Writers `reserve`, write into `bytes`, and move `length`. */
export class PageBuffer {
  bytes = Buffer.allocUnsafeSlow(USUAL_BYTES);
  length = HEADROOM;
  #bit = 0;

  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.length + count));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  /** Booleans are packed from the lowest bit on. */
  appendBit(isSet: boolean): void {
    if (this.#bit === 0) {
      this.reserve(1);
      this.bytes[this.length++] = 0;
    }
    const last = this.length - 1;
    if (isSet) this.bytes[last] = (this.bytes[last] ?? 0) | (1 << this.#bit);
    this.#bit = (this.#bit + 1) & 7;
  }

  clear(): void {
    this.length = HEADROOM;
    this.#bit = 0;
  }
}
