import type { Transform } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import { forEachElement, readDecimal, readInt64, readMicros, readUuid } from '#lib/parquet';
import type { Tuple } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import type { ExportColumn, FileSink, FileWriter } from '#lib/trace-store';
import { blankBreaks, LineBuffer, type LinePiece } from './line-buffer.js';

/**
 * Writes one field of a tuple as JSON: ids, times and costs as strings, as the REST interface answers them, tokens as
 * numbers, lists as lists, payloads as they are stored.
 */
function writeField(line: LineBuffer, { type, isJson }: ExportColumn, row: Tuple, field: number): void {
  const { bytes, offsets, lengths } = row;
  const at = offsets[field] ?? 0;
  const length = lengths[field] ?? -1;
  if (length < 0) return line.ascii('null');
  switch (type) {
    case 'uuid':
      return line.ascii(`"${readUuid(bytes, at)}"`);
    case 'text':
      return isJson ? line.json(bytes, at, length) : line.text(bytes, at, length);
    case 'timestamptz':
      return line.ascii(`"${formatInstant(readMicros(bytes, at))}"`);
    case 'bool':
      return line.ascii(bytes[at] === 0 ? 'false' : 'true');
    case 'int8':
      return line.ascii(String(readInt64(bytes, at)));
    case 'float8':
      return line.ascii(JSON.stringify(bytes.readDoubleBE(at)));
    case 'numeric':
      return line.ascii(`"${readDecimal(bytes, at)}"`);
    case 'uuid[]':
    case 'text[]':
      line.ascii('[');
      forEachElement(bytes, at, (element, elementLength, index) => {
        if (index > 0) line.ascii(',');
        if (type === 'uuid[]') line.ascii(`"${readUuid(bytes, element)}"`);
        else line.text(bytes, element, elementLength);
      });
      return line.ascii(']');
    default:
      return type satisfies never;
  }
}

/** Compression of files of lines. */
type LineCodec = 'none' | 'gzip' | 'zstd';

const CHUNK_BYTES = 256 << 10;
const GZIP_LEVEL = 3;
/**
 * Level 3 with larger tables of long matches, smaller ones of short matches, and these from 5 bytes on. The names of fields,
 * which come again with each line, lead to the history of a conversation well enough: looking back with long-distance
 * matching makes files 4 % smaller there, for twice the CPU, and saves nothing elsewhere (docs/benchmarks.md).
 */
const ZSTD = {
  [constants.ZSTD_c_compressionLevel]: 3,
  [constants.ZSTD_c_windowLog]: 21,
  [constants.ZSTD_c_hashLog]: 18,
  [constants.ZSTD_c_chainLog]: 14,
  [constants.ZSTD_c_minMatch]: 5,
};

function openStream(codec: LineCodec): Transform | undefined {
  switch (codec) {
    case 'none':
      return undefined;
    case 'gzip':
      return createGzip({ level: GZIP_LEVEL, chunkSize: CHUNK_BYTES });
    case 'zstd':
      return createZstdCompress({ params: ZSTD, chunkSize: CHUNK_BYTES });
    default:
      return codec satisfies never;
  }
}

/** Compresses a file as one stream, in Node's thread pool, and hands its bytes on piece by piece. */
class LineCompression {
  readonly #stream: Transform | undefined;
  readonly #sink: FileSink;
  #pieces: Buffer[] = [];

  constructor(codec: LineCodec, sink: FileSink) {
    this.#sink = sink;
    this.#stream = openStream(codec);
    this.#stream?.on('data', (piece: Buffer) => this.#pieces.push(piece));
    // failures reach the caller through the callback of the write
    this.#stream?.on('error', () => undefined);
  }

  /** The bytes must not change until this resolves. */
  async write(bytes: Buffer): Promise<void> {
    const stream = this.#stream;
    if (!stream) return this.#sink(bytes);
    await new Promise<void>((resolve, reject) => {
      stream.write(bytes, (error) => {
        // reading hands out the output that the stream still holds
        while (stream.read() !== null);
        if (error) reject(error);
        else resolve();
      });
    });
    await this.#handOn();
  }

  async end(): Promise<void> {
    const stream = this.#stream;
    if (!stream) return;
    await new Promise<void>((resolve, reject) => {
      stream.once('end', resolve).once('error', reject);
      stream.end();
    });
    await this.#handOn();
  }

  /** Frees the context at once instead of with some later collection. */
  close(): void {
    this.#stream?.destroy();
  }

  async #handOn(): Promise<void> {
    const pieces = this.#pieces;
    this.#pieces = [];
    for (const piece of pieces) await this.#sink(piece);
  }
}

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
