import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import type { MultipartUpload } from '#lib/object-store';
import { CopyBinaryReader } from '#lib/postgres';
import type { ExportRows } from './export-source.js';
import { RowBounds } from './row-bounds.js';
import type { SealedRef } from '../run/sealed-payloads.js';
import { type FileSink, type FileWriter, type OpenFile, RowFeeder } from './row-feeder.js';

/** Dependencies for writing a file. */
export interface RowFileParts {
  /** Opens the writer of the file. */
  readonly open: (sink: FileSink) => OpenFile;
  /** Begins with the first bytes: a file without rows leaves nothing in the store. */
  readonly startUpload: () => Promise<MultipartUpload>;
  /** Bytes after which the file ends, exceeded by a row group at most. */
  readonly fileBytes: number;
  readonly signal: AbortSignal;
  /** Called now and then: what it throws ends the file. */
  readonly beat?: () => Promise<void>;
  /** Called for each row in its order, with `RowBounds.lastBytes`. */
  readonly seen?: (place: Buffer, ref: SealedRef | undefined) => void;
}

/** A file on its way from rows of Postgres, and sealed payloads, to an object store. */
export class RowFile {
  readonly #rows: ExportRows;
  readonly #parts: RowFileParts;
  readonly #reader: CopyBinaryReader;
  readonly #writer: FileWriter;
  readonly #copier: OpenFile['copier'];
  readonly #feeder: RowFeeder;
  readonly #hash = createHash('sha256');
  readonly bounds: RowBounds;
  #upload: Promise<MultipartUpload> | undefined;
  #isReleased = false;

  constructor(rows: ExportRows, parts: RowFileParts) {
    const { columns, fields, sealed } = rows;
    const { fileBytes, beat } = parts;
    this.#rows = rows;
    this.#parts = parts;
    this.#reader = new CopyBinaryReader(fields);
    const bounds = new RowBounds((role) => columns.findIndex(({ cursor }) => cursor === role));
    this.bounds = bounds;
    const file = parts.open((bytes) => this.#send(bytes));
    this.#writer = file.writer;
    this.#copier = file.copier;
    this.#feeder = new RowFeeder({
      ...file,
      sealed,
      refField: columns.length,
      fileBytes,
      beat,
      seen: (row, ref) => {
        bounds.see(row);
        parts.seen?.(bounds.lastBytes, ref);
      },
    });
  }

  get rows(): number {
    return this.#writer.rows;
  }

  /** Bytes that the store has been sent, see `ParquetWriter.bytes`. */
  get bytes(): number {
    return this.#writer.bytes;
  }

  /** Bytes of pages that were copied from files of sealed days. */
  get copiedBytes(): number {
    return this.#copier?.copiedBytes ?? 0;
  }

  /** Reads until the rows end or the file is full. @returns true when the rows have ended */
  async consume(): Promise<boolean> {
    const { signal, beat } = this.#parts;
    for await (const chunk of addAbortSignal(signal, this.#rows.stream)) {
      this.#reader.push(chunk as Buffer);
      await beat?.();
      while (this.#reader.next()) {
        const added = this.#feeder.add(this.#reader);
        if (!added) continue;
        await added;
        if (!this.#feeder.isFull) continue;
        await this.#feeder.finish();
        return false;
      }
    }
    if (!this.#reader.isFinished)
      throw new Error('reading the rows failed: the stream ended before its trailer');
    await this.#feeder.finish();
    return true;
  }

  /** Sends the rest of the file. @returns the upload, which is not completed, and the hash of its bytes */
  async end(): Promise<{ readonly upload: MultipartUpload; readonly sha256: string }> {
    await this.#writer.end();
    const upload = await this.#begun();
    return { upload, sha256: this.#hash.digest('hex') };
  }

  /** Frees the query and, unless it was completed, the upload. @throws the failure of aborting it */
  async release(): Promise<void> {
    this.#isReleased = true;
    this.#rows.stream.destroy();
    this.#writer.close();
    // a writer that still hands bytes on may have just begun the upload; one that could not begin is none
    await (await this.#upload?.catch(() => undefined))?.abort();
  }

  /** A row group may still be on its way when the file is given up: nothing must begin an upload then. */
  async #send(bytes: Buffer): Promise<void> {
    if (this.#isReleased) throw new Error('the file was given up');
    this.#hash.update(bytes);
    await (await this.#begun()).write(bytes);
  }

  #begun(): Promise<MultipartUpload> {
    this.#upload ??= this.#parts.startUpload();
    return this.#upload;
  }
}
