import type { Tuple } from '#lib/postgres';
import { BlockPool } from './block-chain.js';
import { PagePool } from './page.js';
import type { ParquetColumn } from './column-type.js';
import { type ColumnChunk, ColumnWriter, copiedChunk, type CopiedChunk } from './column-writer.js';
import { type Compression, Compressor } from './compression.js';
import { FileFooter } from './file-footer.js';

export interface ParquetWriterOptions {
  /**
   * Columns in the order of the file. Columns with large values come last: the small ones can then be read
   * with few requests.
   */
  readonly columns: readonly ParquetColumn[];
  readonly compression: Compression;
  /** Takes the file's bytes in order; the buffer is used again once this resolves. */
  readonly sink: (bytes: Buffer) => Promise<void>;
  /** Default 10,240. */
  readonly rowGroupRows?: number;
  /** Uncompressed bytes after which a row group ends, whatever its rows. Default 64 MiB. */
  readonly rowGroupBytes?: number;
  /** The size at which the caller will end the file: near to it, `bytes` counts each row group once that is ended. */
  readonly fileBytes?: number;
  /** Uncompressed bytes after which a page ends. Default 1 MiB. */
  readonly pageBytes?: number;
  /** Size from which values of columns with `longPages` go to the compression. Default 1 MiB. */
  readonly pieceBytes?: number;
  /** The same of columns with `longPages`, which are compressed piece by piece (zstd alone). Default 4 MiB. */
  readonly nearPageBytes?: number;
  /** The same where it pays that a page looks back far. Default 64 MiB. */
  readonly farPageBytes?: number;
  /** Names of the columns by which the rows are sorted, ascending. */
  readonly sortedBy?: readonly string[];
  /** Key-value metadata of the file. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Uncompressed bytes that may wait for Node's thread pool, which compresses them. Default 4 MiB. */
  readonly pendingBytes?: number;
}

/** A row group with huge values is not held beside the next one. */
const LARGE_GROUP = 1.25;
/**
 * Bytes that a row group can have beside those of its values, and those of its ids once more, which are
 * longer as texts.
 */
const MORE_BYTES = 1 << 20;

const MAGIC = Buffer.from('PAR1');
const NOTHING: ReadonlyMap<string, CopiedChunk> = new Map();

/**
 * Writes one Parquet file from tuples of Postgres. Equal rows make equal bytes. It holds the open pages and the
 * compressed pages of one row group.
 *
 * ```ts
 * while (reader.next()) {
 *   writer.add(reader);
 *   if (writer.isBusy) await writer.ready();
 * }
 * ```
 *
 * Some columns of a row group can be copied from another file: after `beginCopy`, `add` gives rows to the other columns
 * alone, until `endCopy` ends the row group with the pages of that file. If these are of no use after all, `addCopied`
 * gives the values of each of those rows to the columns that it left out; then the row group continues as any other.
 */
export class ParquetWriter {
  readonly #options: Required<
    Omit<ParquetWriterOptions, 'columns' | 'compression' | 'sortedBy' | 'metadata'>
  >;
  readonly #written: readonly ParquetColumn[];
  readonly #columns: readonly ColumnWriter[];
  /** True for columns that are copied, while some are. */
  #isApart: readonly boolean[] = [];
  #isCopying = false;
  /** Rows of the open group without values in these columns. */
  #behind = 0;
  readonly #compressor: Compressor;
  readonly #footer: FileFooter;
  /** The row group before the open one, on its way to the sink. */
  #sending: Promise<readonly ColumnChunk[]> = Promise.resolve([]);
  #rows = 0;
  #sentBytes = 0;
  #bytes = 0;
  #copiedBytes = 0;
  #groupRows = 0;
  #groupBytes = 0;

  constructor({ columns, compression, sortedBy = [], metadata = {}, ...options }: ParquetWriterOptions) {
    this.#options = {
      rowGroupRows: 10_240,
      rowGroupBytes: 64 << 20,
      fileBytes: Infinity,
      pageBytes: 1 << 20,
      pieceBytes: 1 << 20,
      nearPageBytes: 4 << 20,
      farPageBytes: 64 << 20,
      pendingBytes: 4 << 20,
      ...options,
    };
    const blocks = new BlockPool();
    const pages = new PagePool();
    this.#compressor = new Compressor(compression, this.#options.pendingBytes, blocks);
    this.#written = columns;
    this.#columns = columns.map((column) => new ColumnWriter(column, this.#compressor, blocks, pages));
    this.#footer = new FileFooter({ columns, compression, sortedBy, metadata });
  }

  /** Rows added so far. */
  get rows(): number {
    return this.#rows;
  }

  /** Bytes of the row groups that the sink has taken: the open one is not among them, nor, mostly, the one before. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes that were copied from other files. */
  get copiedBytes(): number {
    return this.#copiedBytes;
  }

  /** True when `ready` must be awaited before the next row. */
  get isBusy(): boolean {
    return this.#isGroupFull || this.#compressor.isBusy;
  }

  get #isGroupFull(): boolean {
    if (this.#isCopying) return false;
    return this.#groupRows >= this.#options.rowGroupRows || this.#groupBytes >= this.#options.rowGroupBytes;
  }

  add(row: Tuple): void {
    this.#addValues(row, false);
    if (this.#isCopying) this.#behind++;
    this.#groupRows++;
    this.#rows++;
  }

  /**
   * Ends the open row group, and begins one in which these columns are not written by `add`.
   * @param columns names of columns of nullable texts
   */
  async beginCopy(columns: readonly string[]): Promise<void> {
    await this.#endRowGroup();
    this.#isApart = this.#written.map(({ name }) => columns.includes(name));
    this.#isCopying = true;
  }

  /** Ends the row group with the chunks of another file. They are drained later, in the order of the columns. */
  async endCopy(chunks: ReadonlyMap<string, CopiedChunk>): Promise<void> {
    for (const { name } of this.#written.filter((_column, n) => this.#isApart[n]))
      if (chunks.get(name)?.rows !== this.#groupRows)
        throw new Error(
          `copying a row group failed: the chunk of ${name} has not its ${this.#groupRows} rows`,
        );
    await this.#endRowGroup(chunks);
    this.#endApart();
  }

  /** Values of the next row of the open row group that has none in the columns of `beginCopy`. */
  addCopied(row: Tuple): void {
    this.#addValues(row, true);
    if (--this.#behind === 0) this.#endApart();
  }

  #endApart(): void {
    this.#isApart = [];
    this.#isCopying = false;
    this.#behind = 0;
  }

  #addValues({ bytes, offsets, lengths }: Tuple, isApart: boolean): void {
    for (let n = 0; n < this.#columns.length; n++) {
      if ((this.#isApart[n] ?? false) !== isApart) continue;
      const column = this.#columns[n];
      const field = this.#written[n]?.field ?? 0;
      const length = lengths[field] ?? -1;
      column?.add(bytes, offsets[field] ?? 0, length);
      if (length > 0) this.#groupBytes += length;
      column?.endRow(this.#options);
    }
  }

  async ready(): Promise<void> {
    if (this.#isGroupFull) await this.#endRowGroup();
    await this.#compressor.room();
  }

  /** Finishes the file; an empty one is valid too. The writer is of no use afterwards. */
  async end(): Promise<void> {
    await this.#endRowGroup();
    await this.#settle();
    if (this.#sentBytes === 0) await this.#send(MAGIC);
    for (const bytes of this.#footer.render(this.#sentBytes)) await this.#send(bytes);
    this.#bytes = this.#sentBytes;
    this.close();
  }

  /** Frees what a file that is not finished holds outside of the heap. */
  close(): void {
    this.#compressor.close();
  }

  /** Waits for the group before, so that two at most are held. Its failure is reported here. */
  async #endRowGroup(copied = NOTHING): Promise<void> {
    if (this.#groupRows === 0) return;
    const rows = this.#groupRows;
    let bytes = this.#groupBytes;
    const chunks = this.#columns.map((column, n) => {
      const written = this.#written[n];
      const own = written && copied.get(written.name);
      if (!own) return column.endChunk();
      const chunk = copiedChunk(written, own);
      bytes += chunk.pages.length;
      this.#copiedBytes += chunk.pages.length;
      return Promise.resolve(chunk);
    });
    this.#groupRows = this.#groupBytes = 0;
    await this.#settle();
    this.#sending = this.#sendRowGroup(chunks, rows);
    this.#sending.catch(() => undefined);
    const mayEndFile = this.#bytes + 2 * bytes + MORE_BYTES >= this.#options.fileBytes;
    if (mayEndFile || bytes > LARGE_GROUP * this.#options.rowGroupBytes) await this.#settle();
  }

  /** Waits until all row groups that were ended are with the sink. */
  async #settle(): Promise<void> {
    const sent = await this.#sending;
    this.#sending = Promise.resolve([]);
    for (const [n, chunk] of sent.entries()) this.#columns[n]?.heed(chunk);
    this.#bytes = this.#sentBytes;
  }

  async #sendRowGroup(ended: readonly Promise<ColumnChunk>[], rows: number): Promise<readonly ColumnChunk[]> {
    const chunks = await Promise.all(ended);
    if (this.#sentBytes === 0) await this.#send(MAGIC);
    this.#footer.addRowGroup(chunks, rows, this.#sentBytes);
    for (const { dictionary, pages } of chunks) {
      await dictionary.drain((bytes) => this.#send(bytes));
      await pages.drain((bytes) => this.#send(bytes));
    }
    return chunks;
  }

  async #send(bytes: Buffer): Promise<void> {
    await this.#options.sink(bytes);
    this.#sentBytes += bytes.length;
  }
}
