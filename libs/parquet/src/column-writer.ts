import { BlockChain, type BlockPool } from './block-chain.js';
import { isList, maxDefinitionLevel, type ParquetColumn, PHYSICAL, physicalType } from './column-type.js';
import type { Compressor } from './compression.js';
import { Dictionary } from './dictionary.js';
import { forEachElement } from './field-values.js';
import { LevelBuffer } from './level-buffer.js';
import { HEADROOM, PageBuffer } from './page-buffer.js';
import { ENCODING, PAGE_TYPE, renderPageHeader } from './page-header.js';
import { encodeHybrid, hybridBound } from './rle-hybrid.js';
import { type ValueEncoder, valueEncoder } from './value-encoder.js';
import { type Bounds, type ValueRange, valueRange } from './value-range.js';

/** A finished column chunk: its pages wait in two chains, what the footer says about it stands beside. */
export interface ColumnChunk {
  readonly column: ParquetColumn;
  /** At most one page; it goes first. */
  readonly dictionary: BlockChain;
  readonly pages: BlockChain;
  readonly values: number;
  readonly nulls: number;
  /** With headers. */
  readonly uncompressedBytes: number;
  readonly bounds: Bounds | undefined;
}

/** Larger buffers were needed for one huge value and are not kept. */
const MAX_KEPT_BYTES = 4 << 20;

/**
 * One column of the open row group. Values go into the open page; a full page is compressed while the next one fills,
 * and its bytes join the chunk in order. A page holds whole rows.
 */
export class ColumnWriter {
  readonly #column: ParquetColumn;
  readonly #compressor: Compressor;
  readonly #encode: ValueEncoder;
  readonly #range: ValueRange | undefined;
  readonly #dictionary: Dictionary | undefined;
  readonly #isList: boolean;
  readonly #levels: LevelBuffer;
  /** Texts stand behind their length. */
  readonly #valueOffset: number;
  readonly #pages: BlockChain;
  readonly #dictionaryPage: BlockChain;
  readonly #spare: PageBuffer[] = [];
  #page = new PageBuffer();
  #indexes = new Int32Array(0);
  #indexCount = 0;
  #usesDictionary: boolean;
  #values = 0;
  #nulls = 0;
  #uncompressedBytes = 0;
  #tail: Promise<void> = Promise.resolve();

  constructor(column: ParquetColumn, compressor: Compressor, pool: BlockPool) {
    this.#column = column;
    this.#compressor = compressor;
    this.#encode = valueEncoder(column.type);
    this.#range = column.statistics ? valueRange(column.type) : undefined;
    this.#dictionary = column.dictionary ? new Dictionary(this.#encode) : undefined;
    this.#isList = isList(column.type);
    this.#levels = new LevelBuffer(maxDefinitionLevel(column), this.#isList);
    this.#valueOffset = physicalType(column.type) === PHYSICAL.byteArray ? 4 : 0;
    this.#pages = new BlockChain(pool);
    this.#dictionaryPage = new BlockChain(pool);
    this.#usesDictionary = this.#dictionary !== undefined;
  }

  /** Whether the open page should end: it holds so much, or points to a dictionary that is to be given up. */
  isPageFull(pageBytes: number): boolean {
    if (this.#usesDictionary && this.#dictionary?.isFull) return true;
    return this.#page.length - HEADROOM >= pageBytes;
  }

  /** @param length -1 is NULL */
  add(source: Buffer, at: number, length: number): void {
    if (length < 0) {
      this.#levels.add(0, 0);
      this.#nulls++;
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
    this.#nulls++;
  }

  #addValue(source: Buffer, at: number, length: number): void {
    if (this.#dictionary && this.#usesDictionary) {
      if (this.#indexCount === this.#indexes.length) this.#indexes = grown(this.#indexes);
      this.#indexes[this.#indexCount++] = this.#dictionary.indexOf(source, at, length, this.#observeEntry);
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
    const body = this.#levels.putBefore(page);
    this.#values += values;
    this.#page = this.#spare.pop() ?? new PageBuffer();
    if (this.#dictionary?.isFull) this.#usesDictionary = false;
    const header = { type: PAGE_TYPE.data, values, encoding };
    const written = Promise.all([this.#compressor.compress(body), this.#tail]).then(([pieces]) => {
      this.#append(this.#pages, header, body.length, pieces);
      page.clear();
      if (page.bytes.length <= MAX_KEPT_BYTES) this.#spare.push(page);
    });
    // the end of the chunk reports a failure; until then it must not count as an unhandled rejection
    written.catch(() => undefined);
    this.#tail = written;
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
      values: this.#values,
      nulls: this.#nulls,
      uncompressedBytes: this.#uncompressedBytes,
      bounds: this.#range?.bounds(),
    };
    this.#range?.clear();
    this.#dictionary?.clear();
    this.#usesDictionary = this.#dictionary !== undefined;
    this.#values = this.#nulls = this.#uncompressedBytes = 0;
    return chunk;
  }

  async #writeDictionary({ page, size }: Dictionary): Promise<void> {
    const body = page.bytes.subarray(HEADROOM, page.length);
    const header = { type: PAGE_TYPE.dictionary, values: size, encoding: ENCODING.plain };
    this.#append(this.#dictionaryPage, header, body.length, await this.#compressor.compress(body));
  }

  #append(
    chain: BlockChain,
    page: { type: number; values: number; encoding: number },
    uncompressedBytes: number,
    pieces: readonly Buffer[],
  ): void {
    const compressedBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const header = renderPageHeader({ ...page, uncompressedBytes, compressedBytes });
    chain.append(header);
    for (const piece of pieces) chain.append(piece);
    this.#uncompressedBytes += header.length + uncompressedBytes;
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
