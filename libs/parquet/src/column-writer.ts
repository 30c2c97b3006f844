import { crc32 } from 'node:zlib';
import { BlockChain, type BlockPool } from './block-chain.js';
import { isList, maxDefinitionLevel, type ParquetColumn, PHYSICAL, physicalType } from './column-type.js';
import type { Compressor, PageContent, PageStream } from './compression.js';
import { Dictionary } from './dictionary.js';
import { forEachElement } from './field-values.js';
import { LevelBuffer } from './level-buffer.js';
import { HEADROOM, type PageBuffer, type PagePool } from './page-buffer.js';
import type { PageBody } from './page-body.js';
import { ENCODING, PAGE_TYPE, renderPageHeader } from './page-header.js';
import { encodeHybrid, hybridBound } from './rle-hybrid.js';
import { type ValueEncoder, valueEncoder } from './value-encoder.js';
import { type Bounds, type ValueRange, valueRange } from './value-range.js';

/** A value of a long page from this size on is not copied. */
const DIRECT_BYTES = 1 << 20;

/** What the page index says of one page. */
export interface PageEntry {
  /** With its header. */
  readonly bytes: number;
  /** Number of its first row within the row group. */
  readonly firstRow: number;
  readonly nulls: number;
  readonly isAllNull: boolean;
  /** Those of the whole chunk where pages point to a dictionary. */
  readonly bounds: Bounds | undefined;
}

/** A finished column chunk: its pages wait in two chains, what the footer says about it stands beside. */
export interface ColumnChunk {
  readonly column: ParquetColumn;
  /** At most one page; it goes first. */
  readonly dictionary: BlockChain;
  readonly pages: BlockChain;
  readonly entries: readonly PageEntry[];
  readonly values: number;
  readonly nulls: number;
  /** With headers. */
  readonly uncompressedBytes: number;
  readonly bounds: Bounds | undefined;
}

/**
 * One column of the open row group. Values go into the open page; a full page is compressed while the next one fills,
 * and its bytes join the chunk in order. A page holds whole rows.
 */
export class ColumnWriter {
  readonly #column: ParquetColumn;
  readonly #compressor: Compressor;
  readonly #content: PageContent;
  /** Where a long page goes piece by piece, once it is no short one any more. */
  readonly #stream: PageStream | undefined;
  readonly #pool: PagePool;
  readonly #encode: ValueEncoder;
  /** Of the open page; of the whole chunk while a dictionary is in use. */
  readonly #range: ValueRange | undefined;
  readonly #chunkRange: ValueRange | undefined;
  readonly #dictionary: Dictionary | undefined;
  readonly #isList: boolean;
  readonly #levels: LevelBuffer;
  /** Texts stand behind their length. */
  readonly #valueOffset: number;
  readonly #pages: BlockChain;
  readonly #dictionaryPage: BlockChain;
  readonly #entries: PageEntry[] = [];
  #page: PageBuffer;
  #rows = 0;
  #pageRows = 0;
  #pageNulls = 0;
  #indexes = new Int32Array(0);
  #indexCount = 0;
  #usesDictionary: boolean;
  #values = 0;
  #nulls = 0;
  #uncompressedBytes = 0;
  #tail: Promise<void> = Promise.resolve();

  constructor(column: ParquetColumn, compressor: Compressor, blocks: BlockPool, pages: PagePool) {
    this.#column = column;
    this.#compressor = compressor;
    this.#content = column.longPages ? 'texts' : 'values';
    this.#stream = column.longPages ? compressor.openStream(blocks) : undefined;
    this.#pool = pages;
    this.#page = pages.take();
    this.#encode = valueEncoder(column.type);
    this.#range = column.statistics ? valueRange(column.type) : undefined;
    this.#chunkRange = column.statistics ? valueRange(column.type) : undefined;
    this.#dictionary = column.dictionary ? new Dictionary(this.#encode) : undefined;
    this.#isList = isList(column.type);
    this.#levels = new LevelBuffer(maxDefinitionLevel(column), this.#isList);
    this.#valueOffset = physicalType(column.type) === PHYSICAL.byteArray ? 4 : 0;
    this.#pages = new BlockChain(blocks);
    this.#dictionaryPage = new BlockChain(blocks);
    this.#usesDictionary = this.#dictionary !== undefined;
  }

  /** To be called after each row: ends the open page when it is full, or points to a dictionary that is to be given up. */
  endRow({ pageBytes, longPageBytes }: { pageBytes: number; longPageBytes: number }): void {
    if (this.#usesDictionary && this.#dictionary?.isFull) {
      this.endPage();
      return;
    }
    const bytes = this.#page.length - HEADROOM;
    if (bytes < pageBytes) return;
    if (this.#stream && this.#stream.bytes + bytes < longPageBytes) this.#handOn(this.#stream);
    else this.endPage();
  }

  /** @param length -1 is NULL */
  add(source: Buffer, at: number, length: number): void {
    this.#pageRows++;
    if (length < 0) {
      this.#levels.add(0, 0);
      this.#pageNulls++;
    } else if (this.#isList) this.#addList(source, at);
    else {
      this.#levels.add(this.#levels.maxDefinition, 0);
      this.#addValue(source, at, length);
    }
  }

  #addList(source: Buffer, at: number): void {
    const { maxDefinition } = this.#levels;
    const count = forEachElement(source, at, (element, length, index) => {
      this.#levels.add(maxDefinition, index === 0 ? 0 : 1);
      this.#addValue(source, element, length);
    });
    if (count > 0) return;
    this.#levels.add(maxDefinition - 1, 0);
    this.#pageNulls++;
  }

  #addValue(source: Buffer, at: number, length: number): void {
    if (this.#dictionary && this.#usesDictionary) {
      if (this.#indexCount === this.#indexes.length) this.#indexes = grown(this.#indexes);
      this.#indexes[this.#indexCount++] = this.#dictionary.indexOf(source, at, length, this.#observeEntry);
      return;
    }
    if (this.#stream && length >= DIRECT_BYTES) {
      this.#handOnDirectly(this.#stream, source, at, length);
      return;
    }
    const start = this.#page.length;
    this.#encode(this.#page, source, at, length);
    this.#observe(this.#page, start);
  }

  readonly #observeEntry = (start: number): void => {
    if (this.#dictionary) this.#observe(this.#dictionary.page, start);
  };

  #observe(page: PageBuffer, start: number): void {
    const at = start + this.#valueOffset;
    this.#range?.observe(page.bytes, at, page.length - at);
  }

  /** Closes the open page, if anything is in it. */
  endPage(): void {
    const values = this.#levels.count;
    if (values === 0) return;
    const page = this.#page;
    // a page of nulls alone must not point to a dictionary that may never come
    const usesDictionary = this.#usesDictionary && this.#indexCount > 0;
    const encoding = usesDictionary ? ENCODING.rleDictionary : ENCODING.plain;
    if (usesDictionary) this.#putIndexes(page);
    const { body, bytes: uncompressedBytes, release } = this.#compressPage();
    const entry = this.#endEntry(values);
    this.#values += values;
    if (this.#dictionary?.isFull) this.#usesDictionary = false;
    const header = { type: PAGE_TYPE.data, values, encoding };
    const written = Promise.all([body, this.#tail]).then(([page]) => {
      const bytes = this.#append(this.#pages, header, uncompressedBytes, page);
      this.#entries.push({ ...entry, bytes });
      release();
    });
    // the end of the chunk reports a failure; until then it must not count as an unhandled rejection
    written.catch(() => undefined);
    this.#tail = written;
  }

  /** Levels and values of the open page, on their way; another page is open then. */
  #compressPage(): { body: Promise<PageBody>; bytes: number; release: () => void } {
    if (this.#stream && this.#stream.bytes > 0) {
      this.#handOn(this.#stream);
      const levels = this.#levels.take();
      const { bytes } = this.#stream;
      return { body: this.#stream.end(levels), bytes: levels.length + bytes, release: () => undefined };
    }
    const page = this.#page;
    this.#page = this.#pool.take();
    const whole = this.#levels.putBefore(page);
    // without compression the page itself is what is written
    const release = (): void => this.#pool.give(page);
    const body = this.#compressor.compress(whole, this.#content).then((pieces) => ({ pieces }));
    return { body, bytes: whole.length, release };
  }

  /** Values of the open page that are compressed while others follow. */
  #handOn(stream: PageStream): void {
    const page = this.#page;
    if (page.length === HEADROOM) return;
    this.#page = this.#pool.take();
    const written = stream.write(page.bytes.subarray(HEADROOM, page.length));
    const given = Promise.all([written, this.#tail]).then(() => this.#pool.give(page));
    given.catch(() => undefined);
    this.#tail = given;
  }

  /** A huge value goes to the compression from where it was read: a copy of it would be the largest thing in memory. */
  #handOnDirectly(stream: PageStream, source: Buffer, at: number, length: number): void {
    const page = this.#page;
    page.reserve(4);
    page.length = page.bytes.writeUInt32LE(length, page.length);
    this.#handOn(stream);
    const written = stream.write(source.subarray(at, at + length), true);
    const done = Promise.all([written, this.#tail]).then(() => undefined);
    done.catch(() => undefined);
    this.#tail = done;
  }

  #endEntry(values: number): Omit<PageEntry, 'bytes'> {
    const entry = {
      firstRow: this.#rows,
      nulls: this.#pageNulls,
      isAllNull: this.#pageNulls === values,
      bounds: this.#range?.bounds(),
    };
    if (this.#range) this.#chunkRange?.include(this.#range);
    // a page may point to any entry of its dictionary
    if (!this.#usesDictionary) this.#range?.clear();
    this.#rows += this.#pageRows;
    this.#nulls += this.#pageNulls;
    this.#pageRows = this.#pageNulls = 0;
    return entry;
  }

  /** Closes the chunk. Its pages are to be drained before the next value is added. */
  async endChunk(): Promise<ColumnChunk> {
    this.endPage();
    await this.#tail;
    if (this.#dictionary && this.#dictionary.size > 0) await this.#writeDictionary(this.#dictionary);
    const chunk: ColumnChunk = {
      column: this.#column,
      dictionary: this.#dictionaryPage,
      pages: this.#pages,
      entries: this.#entries.splice(0),
      values: this.#values,
      nulls: this.#nulls,
      uncompressedBytes: this.#uncompressedBytes,
      bounds: this.#chunkRange?.bounds(),
    };
    this.#range?.clear();
    this.#chunkRange?.clear();
    this.#dictionary?.clear();
    this.#usesDictionary = this.#dictionary !== undefined;
    this.#values = this.#nulls = this.#rows = this.#uncompressedBytes = 0;
    return chunk;
  }

  async #writeDictionary({ page, size }: Dictionary): Promise<void> {
    const body = page.bytes.subarray(HEADROOM, page.length);
    const header = { type: PAGE_TYPE.dictionary, values: size, encoding: ENCODING.plain };
    this.#append(this.#dictionaryPage, header, body.length, {
      pieces: await this.#compressor.compress(body, this.#content),
    });
  }

  /** @returns the bytes of the page with its header */
  #append(
    chain: BlockChain,
    page: { type: number; values: number; encoding: number },
    uncompressedBytes: number,
    { pieces, rest }: PageBody,
  ): number {
    const compressedBytes = pieces.reduce((sum, piece) => sum + piece.length, rest?.length ?? 0);
    let checksum = pieces.reduce((sum, piece) => crc32(piece, sum), 0);
    for (const piece of rest?.pieces() ?? []) checksum = crc32(piece, checksum);
    const header = renderPageHeader({ ...page, uncompressedBytes, compressedBytes, checksum });
    chain.append(header);
    for (const piece of pieces) chain.append(piece);
    if (rest) chain.adopt(rest);
    this.#uncompressedBytes += header.length + uncompressedBytes;
    return header.length + compressedBytes;
  }

  /** The page's values are places in the dictionary: a byte for their width, then all of them. */
  #putIndexes(page: PageBuffer): void {
    const size = this.#dictionary?.size ?? 0;
    const bitWidth = Math.max(1, 32 - Math.clz32(Math.max(0, size - 1)));
    page.reserve(1 + hybridBound(this.#indexCount, bitWidth));
    page.bytes[page.length] = bitWidth;
    page.length = encodeHybrid(this.#indexes, this.#indexCount, bitWidth, page.bytes, page.length + 1);
    this.#indexCount = 0;
  }
}

function grown(indexes: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(1024, 2 * indexes.length));
  larger.set(indexes);
  return larger;
}
