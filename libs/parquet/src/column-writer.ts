import { crc32 } from 'node:zlib';
import { BlockChain, type BlockPool } from './block-chain.js';
import { isList, maxDefinitionLevel, type ParquetColumn, PHYSICAL, physicalType } from './column-type.js';
import type { Compressor, PageContent, PageStream } from './compression.js';
import { Dictionary } from './dictionary.js';
import { forEachElement } from './field-values.js';
import { LookingBack } from './looking-back.js';
import { LevelBuffer } from './level-buffer.js';
import {
  ENCODING,
  HEADROOM,
  PAGE_TYPE,
  type PageBody,
  type PageBuffer,
  PagePool,
  renderPageHeader,
} from './page.js';
import { encodeHybrid, hybridBound } from './rle-hybrid.js';
import { type ValueEncoder, valueEncoder } from './value-encoder.js';
import type { ChunkPlace } from './text-pages.js';
import { type Bounds, type ValueRange, valueRange } from './value-range.js';

/** Uncompressed bytes after which a page ends. */
export interface PageSizes {
  /** Size of a page of usual columns. */
  readonly pageBytes: number;
  /** Size from which values of a long page are handed to its compression. */
  readonly pieceBytes: number;
  /** Page sizes of columns with `longPages`, when looking back far does not pay, and when it does. */
  readonly nearPageBytes: number;
  readonly farPageBytes: number;
}

/** A value of a long page from this size on is not copied. */
const DIRECT_BYTES = 1 << 20;

/** Entry of the page index for one page. */
export interface PageEntry {
  /** Bytes with its header. */
  readonly bytes: number;
  /** Number of its first row within the row group. */
  readonly firstRow: number;
  readonly nulls: number;
  readonly isAllNull: boolean;
  /** Bounds of the page; those of the whole chunk if pages point to a dictionary. */
  readonly bounds: Bounds | undefined;
}

/** Bytes of pages that wait. */
type Pages = Pick<BlockChain, 'length' | 'drain'>;

/** Pages of a column that another file has for the rows of a row group. */
export interface CopiedChunk extends ChunkPlace {
  /** Hands on the bytes of its pages. */
  readonly drain: Pages['drain'];
}

const NO_PAGES: Pages = { length: 0, drain: () => Promise.resolve() };

/**
 * The chunk of a column of nullable texts whose pages are copied. Its nulls are only known from a footer, which has no
 * checksum; readers that trust them would leave out rows, so the chunk has no number of them.
 */
export function copiedChunk(
  column: ParquetColumn,
  { pages, rows, uncompressedBytes, drain }: CopiedChunk,
): ColumnChunk {
  const first = pages[0]?.firstRow ?? 0;
  return {
    column,
    dictionary: NO_PAGES,
    pages: { length: pages.reduce((sum, { bytes }) => sum + bytes, 0), drain },
    entries: pages.map(({ bytes, firstRow }) => ({
      bytes,
      firstRow: firstRow - first,
      nulls: 0,
      isAllNull: false,
      bounds: undefined,
    })),
    values: rows,
    nulls: undefined,
    uncompressedBytes,
    bounds: undefined,
    lookingBackPays: undefined,
  };
}

/** A finished column chunk: its pages wait in two chains, its data for the footer are beside them. */
export interface ColumnChunk {
  readonly column: ParquetColumn;
  /** Page of the dictionary, at most one; it goes first. */
  readonly dictionary: Pages;
  readonly pages: Pages;
  readonly entries: readonly PageEntry[];
  readonly values: number;
  /** Undefined where they were not counted. */
  readonly nulls: number | undefined;
  /** Bytes with headers. */
  readonly uncompressedBytes: number;
  readonly bounds: Bounds | undefined;
  /** Result of the trial on long pages, if there was one. */
  readonly lookingBackPays: boolean | undefined;
}

/** The chunk of the open row group. */
class OpenChunk {
  readonly dictionary: BlockChain;
  readonly pages: BlockChain;
  readonly entries: PageEntry[] = [];
  values = 0;
  nulls = 0;
  rows = 0;
  uncompressedBytes = 0;
  /** Result of the trial of the group. */
  lookingBackPays: boolean | undefined;
  /** Resolves when all pages that were ended so far are compressed and in their chain. */
  tail: Promise<void> = Promise.resolve();

  constructor(blocks: BlockPool) {
    this.dictionary = new BlockChain(blocks);
    this.pages = new BlockChain(blocks);
  }

  /** @returns the bytes of the page with its header */
  append(
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
    this.uncompressedBytes += header.length + uncompressedBytes;
    return header.length + compressedBytes;
  }

  /**
   * Adds work that later steps wait for too. A failure is reported by the end of the chunk, and is not
   * unhandled until then.
   */
  follow(work: Promise<void>): void {
    work.catch(() => undefined);
    this.tail = work;
  }
}

/**
 * One column of the open row group. Values go into the open page; a full page is compressed while the next one fills,
 * and its bytes join the chunk in order. A page holds whole rows.
 */
export class ColumnWriter {
  readonly #content: PageContent;
  readonly #isLong: boolean;
  readonly #lookingBack = new LookingBack();
  readonly #pool: PagePool;
  readonly #encode: ValueEncoder;
  /** Range of the open page; of the whole chunk while a dictionary is in use. */
  readonly #range: ValueRange | undefined;
  readonly #chunkRange: ValueRange | undefined;
  readonly #dictionary: Dictionary | undefined;
  readonly #isList: boolean;
  readonly #levels: LevelBuffer;
  /** Texts stand behind their length. */
  readonly #valueOffset: number;
  #chunk: OpenChunk;
  #page: PageBuffer;
  /** Stream that the open page is written to piece by piece, once it is long. */
  #long: { readonly stream: PageStream; readonly looksBack: boolean } | undefined;
  #pageRows = 0;
  #pageNulls = 0;
  #indexes = new Int32Array(0);
  #indexCount = 0;
  #usesDictionary: boolean;

  constructor(
    private readonly column: ParquetColumn,
    private readonly compressor: Compressor,
    private readonly blocks: BlockPool,
    longPages: PagePool,
  ) {
    this.#content = column.longPages ? 'texts' : 'values';
    this.#isLong = (column.longPages ?? false) && compressor.hasLongPages;
    // pages of one column are of one size: shared with those of payloads, each would become as large
    this.#pool = this.#isLong ? longPages : new PagePool();
    this.#page = this.#pool.take();
    this.#encode = valueEncoder(column.type);
    this.#range = column.statistics ? valueRange(column.type) : undefined;
    this.#chunkRange = column.statistics ? valueRange(column.type) : undefined;
    this.#dictionary = column.dictionary ? new Dictionary(this.#encode) : undefined;
    this.#isList = isList(column.type);
    this.#levels = new LevelBuffer(maxDefinitionLevel(column), this.#isList);
    this.#valueOffset = physicalType(column.type) === PHYSICAL.byteArray ? 4 : 0;
    this.#chunk = new OpenChunk(blocks);
    this.#usesDictionary = this.#dictionary !== undefined;
  }

  /**
   * Ends a row; must be called after each: ends the open page when it is full, or points to a dictionary that
   * is to be given up.
   */
  endRow({ pageBytes, pieceBytes, nearPageBytes, farPageBytes }: PageSizes): void {
    if (this.#usesDictionary && this.#dictionary?.isFull) {
      this.endPage();
      return;
    }
    const bytes = this.#page.length - HEADROOM;
    const long = this.#long;
    if (long && long.stream.bytes + bytes >= (long.looksBack ? farPageBytes : nearPageBytes)) this.endPage();
    else if (!this.#isLong && bytes >= pageBytes) this.endPage();
    else if (this.#isLong && bytes >= pieceBytes) this.#handOn();
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
    if (this.#isLong && length >= DIRECT_BYTES) {
      this.#handOnDirectly(source, at, length);
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
    const chunk = this.#chunk;
    const { body, bytes: uncompressedBytes, release } = this.#compressPage();
    const entry = this.#endEntry(values);
    chunk.values += values;
    if (this.#dictionary?.isFull) this.#usesDictionary = false;
    const header = { type: PAGE_TYPE.data, values, encoding };
    chunk.follow(
      Promise.all([body, chunk.tail]).then(([page]) => {
        const bytes = chunk.append(chunk.pages, header, uncompressedBytes, page);
        chunk.lookingBackPays ??= page.lookingBackPays;
        chunk.entries.push({ ...entry, bytes });
        release();
      }),
    );
  }

  /** Levels and values of the open page, on their way; another page is open then. */
  #compressPage(): { body: Promise<PageBody>; bytes: number; release: () => void } {
    if (this.#long) {
      const stream = this.#handOn();
      this.#long = undefined;
      const levels = this.#levels.take();
      const bytes = levels.length + stream.bytes;
      return { body: stream.end(levels), bytes, release: () => undefined };
    }
    const page = this.#page;
    this.#page = this.#pool.take();
    const whole = this.#levels.putBefore(page);
    // without compression the page itself is written
    const release = (): void => this.#pool.give(page);
    const body = this.compressor.compress(whole, this.#content).then((pieces) => ({ pieces }));
    return { body, bytes: whole.length, release };
  }

  #openLongPage(): PageStream {
    const isTried = this.#lookingBack.takeTrial();
    const looksBack = isTried || this.#lookingBack.isWorthwhile;
    const stream = this.compressor.openPage({ looksBack, isTried });
    this.#long = { stream, looksBack };
    return stream;
  }

  /** Values of the open page that are compressed while others follow: it is a long one. */
  #handOn(): PageStream {
    const stream = this.#long?.stream ?? this.#openLongPage();
    const page = this.#page;
    if (page.length === HEADROOM) return stream;
    this.#page = this.#pool.take();
    const written = stream.write(page.bytes.subarray(HEADROOM, page.length));
    this.#chunk.follow(Promise.all([written, this.#chunk.tail]).then(() => this.#pool.give(page)));
    return stream;
  }

  /**
   * A huge value is compressed from the buffer it was read into: a copy of it would be the largest thing in
   * memory.
   */
  #handOnDirectly(source: Buffer, at: number, length: number): void {
    const page = this.#page;
    page.reserve(4);
    page.length = page.bytes.writeUInt32LE(length, page.length);
    const written = this.#handOn().write(source.subarray(at, at + length), true);
    this.#chunk.follow(Promise.all([written, this.#chunk.tail]).then(() => undefined));
  }

  #endEntry(values: number): Omit<PageEntry, 'bytes'> {
    const entry = {
      firstRow: this.#chunk.rows,
      nulls: this.#pageNulls,
      isAllNull: this.#pageNulls === values,
      bounds: this.#range?.bounds(),
    };
    if (this.#range) this.#chunkRange?.include(this.#range);
    // a page may point to any entry of its dictionary
    if (!this.#usesDictionary) this.#range?.clear();
    this.#chunk.rows += this.#pageRows;
    this.#chunk.nulls += this.#pageNulls;
    this.#pageRows = this.#pageNulls = 0;
    return entry;
  }

  /**
   * Closes the chunk. The next value begins another one at once, while what is left of this one is compressed.
   * @returns once its pages are compressed
   */
  endChunk(): Promise<ColumnChunk> {
    this.endPage();
    this.#lookingBack.endGroup();
    const chunk = this.#chunk;
    const bounds = this.#chunkRange?.bounds();
    if (this.#dictionary && this.#dictionary.size > 0) this.#endDictionary(chunk, this.#dictionary);
    this.#range?.clear();
    this.#chunkRange?.clear();
    this.#dictionary?.clear();
    this.#usesDictionary = this.#dictionary !== undefined;
    this.#chunk = new OpenChunk(this.blocks);
    const ended = chunk.tail.then(() => ({ ...chunk, column: this.column, bounds }));
    ended.catch(() => undefined);
    return ended;
  }

  /** Applies the trial of a chunk of this column, from the next chunk on. */
  heed({ lookingBackPays }: ColumnChunk): void {
    this.#lookingBack.heed(lookingBackPays);
  }

  #endDictionary(chunk: OpenChunk, { page, size }: Dictionary): void {
    // a copy: the next chunk's values are written over these
    const body = Buffer.from(page.bytes.subarray(HEADROOM, page.length));
    const header = { type: PAGE_TYPE.dictionary, values: size, encoding: ENCODING.plain };
    const compressed = this.compressor.compress(body, this.#content);
    chunk.follow(
      Promise.all([compressed, chunk.tail]).then(([pieces]) => {
        chunk.append(chunk.dictionary, header, body.length, { pieces });
      }),
    );
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
