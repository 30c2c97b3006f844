import type { Tuple } from '#lib/postgres';
import { BlockPool } from './block-chain.js';
import { PagePool } from './page-buffer.js';
import type { ParquetColumn } from './column-type.js';
import { type ColumnChunk, ColumnWriter } from './column-writer.js';
import { type Compression, Compressor } from './compression.js';
import { FileFooter } from './file-footer.js';

export interface ParquetWriterOptions {
  /** In the order of the file. Columns with large values last: what is small can then be read with few requests. */
  readonly columns: readonly ParquetColumn[];
  readonly compression: Compression;
  /** Takes the file's bytes in order; the buffer is used again once this resolves. */
  readonly sink: (bytes: Buffer) => Promise<void>;
  /** Default 10,240. */
  readonly rowGroupRows?: number;
  /** Uncompressed bytes after which a row group ends, whatever its rows. Default 64 MiB. */
  readonly rowGroupBytes?: number;
  /** Uncompressed bytes after which a page ends. Default 1 MiB. */
  readonly pageBytes?: number;
  /** The same of columns with `longPages`, which are compressed piece by piece (zstd alone). Default 64 MiB. */
  readonly longPageBytes?: number;
  /** Names of the columns by which the rows are sorted, ascending. */
  readonly sortedBy?: readonly string[];
  /** Key-value metadata of the file. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Pages compressed at a time, in Node's thread pool. Default 3. */
  readonly parallelPages?: number;
}

const MAGIC = Buffer.from('PAR1');

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
 */
export class ParquetWriter {
  readonly #options: Required<
    Omit<ParquetWriterOptions, 'columns' | 'compression' | 'sortedBy' | 'metadata'>
  >;
  readonly #fields: readonly number[];
  readonly #columns: readonly ColumnWriter[];
  readonly #compressor: Compressor;
  readonly #footer: FileFooter;
  #rows = 0;
  #bytes = 0;
  #groupRows = 0;
  #groupBytes = 0;

  constructor({ columns, compression, sortedBy = [], metadata = {}, ...options }: ParquetWriterOptions) {
    this.#options = {
      rowGroupRows: 10_240,
      rowGroupBytes: 64 << 20,
      pageBytes: 1 << 20,
      longPageBytes: 64 << 20,
      parallelPages: 3,
      ...options,
    };
    this.#compressor = new Compressor(compression, this.#options.parallelPages);
    const blocks = new BlockPool();
    const pages = new PagePool();
    this.#fields = columns.map(({ field }) => field);
    this.#columns = columns.map((column) => new ColumnWriter(column, this.#compressor, blocks, pages));
    this.#footer = new FileFooter({ columns, compression, sortedBy, metadata });
  }

  /** Rows added so far. */
  get rows(): number {
    return this.#rows;
  }

  /** Bytes that the sink has taken; the open row group is not among them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True when `ready` must be awaited before the next row. */
  get isBusy(): boolean {
    return this.#isGroupFull || this.#compressor.isBusy;
  }

  get #isGroupFull(): boolean {
    return this.#groupRows >= this.#options.rowGroupRows || this.#groupBytes >= this.#options.rowGroupBytes;
  }

  add({ bytes, offsets, lengths }: Tuple): void {
    for (let n = 0; n < this.#columns.length; n++) {
      const column = this.#columns[n];
      const field = this.#fields[n] ?? 0;
      const length = lengths[field] ?? -1;
      column?.add(bytes, offsets[field] ?? 0, length);
      if (length > 0) this.#groupBytes += length;
      column?.endRow(this.#options);
    }
    this.#groupRows++;
    this.#rows++;
  }

  async ready(): Promise<void> {
    if (this.#isGroupFull) await this.#endRowGroup();
    await this.#compressor.room();
  }

  /** Finishes the file; an empty one is valid too. The writer is of no use afterwards. */
  async end(): Promise<void> {
    await this.#endRowGroup();
    if (this.#bytes === 0) await this.#write(MAGIC);
    for (const bytes of this.#footer.render(this.#bytes)) await this.#write(bytes);
    this.close();
  }

  /** Frees what a file that is not finished holds outside of the heap. */
  close(): void {
    this.#compressor.close();
  }

  async #endRowGroup(): Promise<void> {
    if (this.#groupRows === 0) return;
    if (this.#bytes === 0) await this.#write(MAGIC);
    for (const column of this.#columns) column.endPage();
    const chunks: ColumnChunk[] = [];
    for (const column of this.#columns) chunks.push(await column.endChunk());
    this.#footer.addRowGroup(chunks, this.#groupRows, this.#bytes);
    for (const { dictionary, pages } of chunks) {
      await dictionary.drain((bytes) => this.#write(bytes));
      await pages.drain((bytes) => this.#write(bytes));
    }
    this.#groupRows = this.#groupBytes = 0;
  }

  async #write(bytes: Buffer): Promise<void> {
    await this.#options.sink(bytes);
    this.#bytes += bytes.length;
  }
}
