import { PLATFORM_VERSION } from '#lib/config';
import {
  type ColumnType,
  DECIMAL_PRECISION,
  DECIMAL_SCALE,
  isList,
  type ParquetColumn,
  physicalType,
} from './column-type.js';
import type { ColumnChunk } from './column-writer.js';
import { CODEC, type Compression } from './compression.js';
import { ENCODING } from './page.js';
import { renderColumnIndex, renderOffsetIndex } from './page-index.js';
import { ThriftWriter } from './thrift-writer.js';

/** Numbers of parquet.thrift. */
const REQUIRED = 0;
const OPTIONAL = 1;
const REPEATED = 2;
const CONVERTED = { utf8: 0, list: 3, decimal: 5, timestampMicros: 10 } as const;
const LOGICAL = { string: 1, list: 3, decimal: 5, timestamp: 8 } as const;
const VERSION = 2;
const CREATED_BY = `agentplane version ${PLATFORM_VERSION}`;

export interface FooterOptions {
  readonly columns: readonly ParquetColumn[];
  readonly compression: Compression;
  /** Names of columns; those that the file has not end the list. */
  readonly sortedBy: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** A chunk as the footer describes it, encoded but for the places of its indexes, which follow all row groups. */
interface DescribedChunk {
  /** ColumnMetaData. */
  readonly metadata: Buffer;
  readonly columnIndex: Buffer | undefined;
  readonly offsetIndex: Buffer;
}

interface DescribedGroup {
  readonly chunks: readonly DescribedChunk[];
  readonly uncompressedBytes: number;
  readonly rows: number;
  readonly start: number;
  readonly bytes: number;
}

interface Place {
  readonly offset: number;
  readonly bytes: number;
}

/**
 * The metadata at a file's end. The metadata of row groups, which a long file keeps, are encoded as they
 * come.
 */
export class FileFooter {
  /** Numbers of the columns by which rows are sorted. */
  readonly #sortedBy: readonly number[];
  readonly #groups: DescribedGroup[] = [];

  constructor(private readonly options: FooterOptions) {
    const numbers = options.sortedBy.map((name) =>
      options.columns.findIndex((column) => column.name === name),
    );
    const missing = numbers.indexOf(-1);
    this.#sortedBy = missing < 0 ? numbers : numbers.slice(0, missing);
  }

  /** @param start offset of the first chunk in the file; the others follow without a gap */
  addRowGroup(chunks: readonly ColumnChunk[], rows: number, start: number): void {
    let offset = start;
    const described = chunks.map((chunk): DescribedChunk => {
      const dataStart = offset + chunk.dictionary.length;
      const metadata = this.#renderChunk(chunk, offset);
      offset = dataStart + chunk.pages.length;
      const { type, statistics } = chunk.column;
      return {
        metadata,
        columnIndex: statistics ? renderColumnIndex(type, chunk.entries) : undefined,
        offsetIndex: renderOffsetIndex(chunk.entries, dataStart),
      };
    });
    const uncompressedBytes = chunks.reduce((sum, chunk) => sum + chunk.uncompressedBytes, 0);
    this.#groups.push({ chunks: described, uncompressedBytes, rows, start, bytes: offset - start });
  }

  #renderChunk({ column, dictionary, pages, bounds, ...chunk }: ColumnChunk, offset: number): Buffer {
    const hasDictionary = dictionary.length > 0;
    const thrift = new ThriftWriter()
      .begin()
      .i32(1, physicalType(column.type))
      .i32s(2, [ENCODING.plain, ENCODING.rle, ...(hasDictionary ? [ENCODING.rleDictionary] : [])])
      .blobs(3, isList(column.type) ? [column.name, 'list', 'element'] : [column.name])
      .i32(4, CODEC[this.options.compression])
      .i64(5, chunk.values)
      .i64(6, chunk.uncompressedBytes)
      .i64(7, dictionary.length + pages.length)
      .i64(9, offset + dictionary.length);
    if (hasDictionary) thrift.i64(11, offset);
    if (chunk.nulls === undefined) return Buffer.from(thrift.end().bytes);
    thrift.struct(12).i64(3, chunk.nulls);
    if (bounds) {
      thrift.binary(5, bounds.max).binary(6, bounds.min);
      thrift.bool(7, bounds.isMaxExact).bool(8, bounds.isMinExact);
    }
    return Buffer.from(thrift.end().end().bytes);
  }

  /**
   * End of a file: the page indexes of all chunks, metadata, its length, and four letters.
   * @param offset of this end in the file
   */
  render(offset: number): Buffer[] {
    const chunks = this.#groups.flatMap((group) => group.chunks);
    const pieces: Buffer[] = [];
    let end = offset;
    const place = (bytes: Buffer | undefined): Place | undefined => {
      if (!bytes) return undefined;
      pieces.push(bytes);
      end += bytes.length;
      return { offset: end - bytes.length, bytes: bytes.length };
    };
    const columnIndexes = chunks.map(({ columnIndex }) => place(columnIndex));
    const offsetIndexes = chunks.map(({ offsetIndex }) => place(offsetIndex));
    return [Buffer.concat(pieces), this.#renderMetadata(columnIndexes, offsetIndexes)];
  }

  #renderMetadata(
    columnIndexes: readonly (Place | undefined)[],
    offsetIndexes: readonly (Place | undefined)[],
  ): Buffer {
    const { columns, metadata } = this.options;
    const thrift = new ThriftWriter().begin().i32(1, VERSION);
    this.#putSchema(thrift);
    thrift.i64(
      3,
      this.#groups.reduce((sum, { rows }) => sum + rows, 0),
    );
    thrift.structs(4, this.#groups.length);
    for (const [number, group] of this.#groups.entries()) {
      const first = number * columns.length;
      thrift.begin().structs(1, group.chunks.length);
      for (const [n, chunk] of group.chunks.entries())
        putChunk(thrift, chunk, offsetIndexes[first + n], columnIndexes[first + n]);
      thrift.i64(2, group.uncompressedBytes).i64(3, group.rows);
      this.#putSorting(thrift);
      thrift.i64(5, group.start).i64(6, group.bytes);
      if (number < 0x7fff) thrift.i16(7, number);
      thrift.end();
    }
    const entries = Object.entries(metadata);
    if (entries.length > 0) thrift.structs(5, entries.length);
    for (const [key, value] of entries) thrift.begin().binary(1, key).binary(2, value).end();
    thrift.binary(6, CREATED_BY).structs(7, columns.length);
    // the order that each type defines: without this, readers must not trust the bounds of texts
    for (let n = 0; n < columns.length; n++) thrift.begin().struct(1).end().end();
    const bytes = thrift.end().bytes;
    const tail = Buffer.alloc(8);
    tail.writeUInt32LE(bytes.length);
    tail.write('PAR1', 4);
    return Buffer.concat([bytes, tail]);
  }

  #putSorting(thrift: ThriftWriter): void {
    if (this.#sortedBy.length === 0) return;
    thrift.structs(4, this.#sortedBy.length);
    for (const number of this.#sortedBy) thrift.begin().i32(1, number).bool(2, false).bool(3, false).end();
  }

  #putSchema(thrift: ThriftWriter): void {
    const elements = this.options.columns.reduce((sum, { type }) => sum + (isList(type) ? 3 : 1), 1);
    thrift.structs(2, elements);
    thrift.begin().binary(4, 'schema').i32(5, this.options.columns.length).end();
    for (const { name, type, nullable, ids } of this.options.columns) {
      const repetition = nullable ? OPTIONAL : REQUIRED;
      if (!isList(type)) {
        putLeaf(thrift, name, type, repetition, ids?.column);
        continue;
      }
      thrift.begin().i32(3, repetition).binary(4, name).i32(5, 1).i32(6, CONVERTED.list);
      if (ids) thrift.i32(9, ids.column);
      thrift.struct(10).struct(LOGICAL.list).end().end().end();
      thrift.begin().i32(3, REPEATED).binary(4, 'list').i32(5, 1).end();
      putLeaf(thrift, 'element', 'text', REQUIRED, ids?.element);
    }
  }
}

function putChunk(
  thrift: ThriftWriter,
  { metadata }: DescribedChunk,
  offsetIndex: Place | undefined,
  columnIndex: Place | undefined,
): void {
  thrift.begin().i64(2, 0).encodedStruct(3, metadata);
  if (offsetIndex) thrift.i64(4, offsetIndex.offset).i32(5, offsetIndex.bytes);
  if (columnIndex) thrift.i64(6, columnIndex.offset).i32(7, columnIndex.bytes);
  thrift.end();
}

function putLeaf(
  thrift: ThriftWriter,
  name: string,
  type: ColumnType,
  repetition: number,
  id: number | undefined,
): void {
  thrift.begin().i32(1, physicalType(type)).i32(3, repetition).binary(4, name);
  const putId = (): ThriftWriter => (id === undefined ? thrift : thrift.i32(9, id));
  switch (type) {
    case 'bool':
    case 'int64':
    case 'double':
      putId();
      break;
    case 'timestamp':
      thrift.i32(6, CONVERTED.timestampMicros);
      putId().struct(10).struct(LOGICAL.timestamp);
      // adjusted to UTC, in microseconds
      thrift.bool(1, true).struct(2).struct(2).end().end().end().end();
      break;
    case 'decimal':
      thrift.i32(6, CONVERTED.decimal).i32(7, DECIMAL_SCALE).i32(8, DECIMAL_PRECISION);
      putId().struct(10).struct(LOGICAL.decimal).i32(1, DECIMAL_SCALE).i32(2, DECIMAL_PRECISION).end().end();
      break;
    case 'uuid':
    case 'text':
    case 'uuid-list':
    case 'text-list':
    case 'uuid-list-as-text':
    case 'text-list-as-text':
      thrift.i32(6, CONVERTED.utf8);
      putId().struct(10).struct(LOGICAL.string).end().end();
      break;
    default:
      throw new Error(`no such type: ${type satisfies never}`);
  }
  thrift.end();
}
