import type { Tuple } from '#lib/postgres';
import type { ExportColumn } from '#lib/trace-store';
import type { FileSink, FileWriter } from '../file-writer.js';
import { writeField } from './json-field.js';
import { blankBreaks, LineBuffer, type LinePiece } from './line-buffer.js';
import { LineCompression, type LineCodec } from './line-compression.js';

/** Part of a borrowed value that is compressed at a time. */
const SLICE_BYTES = 256 << 10;

export interface JsonLinesOptions {
  /** Written columns, each with the index of its field in a tuple. */
  readonly columns: readonly { readonly column: ExportColumn; readonly field: number }[];
  readonly codec: LineCodec;
  readonly sink: FileSink;
}

/**
 * Writes a row as a line: an object with every column, null where there is no value. It holds a few blocks; payloads are
 * copied, and never parsed. While a block is compressed the next one is filled.
 */
export class JsonLinesWriter implements FileWriter {
  readonly #fields: readonly {
    readonly before: Buffer;
    readonly column: ExportColumn;
    readonly field: number;
  }[];
  readonly #line = new LineBuffer();
  readonly #compression: LineCompression;
  readonly #slice = Buffer.allocUnsafeSlow(SLICE_BYTES);
  #work: Promise<void> = Promise.resolve();
  #rows = 0;
  #bytes = 0;

  constructor({ columns, codec, sink }: JsonLinesOptions) {
    this.#fields = columns.map(({ column, field }, at) => ({
      column,
      field,
      before: Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(column.name)}:`),
    }));
    this.#compression = new LineCompression(codec, async (bytes) => {
      await sink(bytes);
      this.#bytes += bytes.length;
    });
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isBusy(): boolean {
    return this.#line.hasPieces;
  }

  add(row: Tuple): void {
    for (const { before, column, field } of this.#fields) {
      this.#line.raw(before);
      writeField(this.#line, column, row, field);
    }
    this.#line.ascii('}\n');
    this.#rows++;
  }

  async ready(): Promise<void> {
    await this.#compress(this.#line.take());
  }

  async end(): Promise<void> {
    await this.#compress(this.#line.take(true));
    await this.#work;
    await this.#compression.end();
    this.close();
  }

  close(): void {
    this.#compression.close();
  }

  /**
   * Waits for all but the last piece, whose compression continues in the background unless it is borrowed.
   */
  async #compress(pieces: readonly LinePiece[]): Promise<void> {
    for (const piece of pieces) {
      await this.#work;
      this.#work = this.#compressPiece(piece);
      // reaches who waits for it next
      this.#work.catch(() => undefined);
    }
    if (pieces.some(({ isBorrowed }) => isBorrowed)) await this.#work;
  }

  async #compressPiece(piece: LinePiece): Promise<void> {
    const { bytes, isBorrowed } = piece;
    if (!isBorrowed) {
      await this.#compression.write(bytes);
      this.#line.give(piece);
      return;
    }
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      const length = bytes.copy(this.#slice, 0, at);
      const slice = this.#slice.subarray(0, length);
      blankBreaks(slice);
      await this.#compression.write(slice);
    }
  }
}
