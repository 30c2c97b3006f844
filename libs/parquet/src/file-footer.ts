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
import { ENCODING } from './page-header.js';
import { ThriftWriter } from './thrift-writer.js';

/** Numbers of parquet.thrift. */
const REQUIRED = 0;
const OPTIONAL = 1;
const REPEATED = 2;
const CONVERTED = { utf8: 0, list: 3, decimal: 5, timestampMicros: 10, json: 19 } as const;
const LOGICAL = { string: 1, list: 3, decimal: 5, timestamp: 8, json: 12 } as const;
const VERSION = 2;
const CREATED_BY = 'agentplane version 1.0.0';

/**
 * The metadata at a file's end. Row groups are encoded as they come: their bytes are all that a long file keeps of
 * them.
 */
export class FileFooter {
  readonly #columns: readonly ParquetColumn[];
  readonly #codec: number;
  readonly #rowGroups = new ThriftWriter();
  #rowGroupCount = 0;
  #rows = 0;

  constructor(columns: readonly ParquetColumn[], compression: Compression) {
    this.#columns = columns;
    this.#codec = CODEC[compression];
  }

  /** @param start where the first chunk begins in the file; the others follow without a gap */
  addRowGroup(chunks: readonly ColumnChunk[], rows: number, start: number): void {
    const thrift = this.#rowGroups.begin().structs(1, chunks.length);
    let offset = start;
    let uncompressedBytes = 0;
    for (const chunk of chunks) {
      this.#putChunk(thrift, chunk, offset);
      offset += chunk.dictionary.length + chunk.pages.length;
      uncompressedBytes += chunk.uncompressedBytes;
    }
    thrift
      .i64(2, uncompressedBytes)
      .i64(3, rows)
      .i64(5, start)
      .i64(6, offset - start);
    if (this.#rowGroupCount < 0x7fff) thrift.i16(7, this.#rowGroupCount);
    thrift.end();
    this.#rowGroupCount++;
    this.#rows += rows;
  }

  #putChunk(thrift: ThriftWriter, chunk: ColumnChunk, offset: number): void {
    const { column, dictionary, pages, bounds } = chunk;
    const hasDictionary = dictionary.length > 0;
    thrift
      .begin()
      .i64(2, 0)
      .struct(3)
      .i32(1, physicalType(column.type))
      .i32s(2, [ENCODING.plain, ENCODING.rle, ...(hasDictionary ? [ENCODING.rleDictionary] : [])])
      .strings(3, isList(column.type) ? [column.name, 'list', 'element'] : [column.name])
      .i32(4, this.#codec)
      .i64(5, chunk.values)
      .i64(6, chunk.uncompressedBytes)
      .i64(7, dictionary.length + pages.length)
      .i64(9, offset + dictionary.length);
    if (hasDictionary) thrift.i64(11, offset);
    thrift.struct(12).i64(3, chunk.nulls);
    if (bounds) thrift.binary(5, bounds.max).binary(6, bounds.min);
    thrift.end().end().end();
  }

  /** Metadata, its length, and the four letters that end a file. */
  render(): Buffer {
    const thrift = new ThriftWriter().begin().i32(1, VERSION);
    this.#putSchema(thrift);
    thrift.i64(3, this.#rows).structs(4, this.#rowGroupCount).encoded(this.#rowGroups.bytes);
    thrift.binary(6, CREATED_BY).structs(7, this.#columns.length);
    // the order that each type defines: without this, readers must not trust the bounds of texts
    for (let n = 0; n < this.#columns.length; n++) thrift.begin().struct(1).end().end();
    const metadata = thrift.end().bytes;
    const tail = Buffer.alloc(8);
    tail.writeUInt32LE(metadata.length);
    tail.write('PAR1', 4);
    return Buffer.concat([metadata, tail]);
  }

  #putSchema(thrift: ThriftWriter): void {
    const elements = this.#columns.reduce((sum, { type }) => sum + (isList(type) ? 3 : 1), 1);
    thrift.structs(2, elements);
    thrift.begin().binary(4, 'schema').i32(5, this.#columns.length).end();
    for (const { name, type, nullable } of this.#columns) {
      const repetition = nullable ? OPTIONAL : REQUIRED;
      if (!isList(type)) {
        putLeaf(thrift, name, type, repetition);
        continue;
      }
      thrift.begin().i32(3, repetition).binary(4, name).i32(5, 1).i32(6, CONVERTED.list);
      thrift.struct(10).struct(LOGICAL.list).end().end().end();
      thrift.begin().i32(3, REPEATED).binary(4, 'list').i32(5, 1).end();
      putLeaf(thrift, 'element', 'text', REQUIRED);
    }
  }
}

function putLeaf(thrift: ThriftWriter, name: string, type: ColumnType, repetition: number): void {
  thrift.begin().i32(1, physicalType(type)).i32(3, repetition).binary(4, name);
  switch (type) {
    case 'bool':
    case 'int64':
      break;
    case 'timestamp':
      thrift.i32(6, CONVERTED.timestampMicros).struct(10).struct(LOGICAL.timestamp);
      // adjusted to UTC, in microseconds
      thrift.bool(1, true).struct(2).struct(2).end().end().end().end();
      break;
    case 'decimal':
      thrift.i32(6, CONVERTED.decimal).i32(7, DECIMAL_SCALE).i32(8, DECIMAL_PRECISION);
      thrift.struct(10).struct(LOGICAL.decimal).i32(1, DECIMAL_SCALE).i32(2, DECIMAL_PRECISION).end().end();
      break;
    case 'json':
      thrift.i32(6, CONVERTED.json).struct(10).struct(LOGICAL.json).end().end();
      break;
    case 'uuid':
    case 'text':
    case 'uuid-list':
    case 'text-list':
    case 'uuid-list-as-text':
    case 'text-list-as-text':
      thrift.i32(6, CONVERTED.utf8).struct(10).struct(LOGICAL.string).end().end();
      break;
    default:
      throw new Error(`no such type: ${type satisfies never}`);
  }
  thrift.end();
}
