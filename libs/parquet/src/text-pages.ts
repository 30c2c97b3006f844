import { promisify } from 'node:util';
import { crc32, zstdDecompress } from 'node:zlib';
import {
  type ColumnChunk,
  type FileMetaData,
  parquetMetadata,
  readOffsetIndex,
  type RowGroup,
} from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';

/** Reads bytes of a file from `start` up to `end`, exclusive. */
export type ReadBytes = (start: number, end: number) => Promise<Buffer>;

/** Location of a page of a column. */
export interface PagePlace {
  readonly offset: number;
  /** Bytes with the header. */
  readonly bytes: number;
  /** Number of its first row in the file. */
  readonly firstRow: number;
  readonly rows: number;
  /** Mean of the uncompressed bytes of the pages around it; the file does not have those of each. */
  readonly meanBytes: number;
}

/** Pages of a column in one row group. */
export interface ChunkPlace {
  readonly pages: readonly PagePlace[];
  readonly rows: number;
  /** Bytes of the pages before their compression, with headers. */
  readonly uncompressedBytes: number;
}

/** Pages of a column, and those of each row group by the number of its first row. */
interface ColumnPlaces {
  readonly pages: readonly PagePlace[];
  readonly chunks: ReadonlyMap<number, ChunkPlace>;
}

/** Read first: the footer and the page index of most files. */
const TAIL_BYTES = 512 << 10;
const MOST_TAIL_BYTES = 64 << 20;
/** Length of the footer, and the four letters behind it. */
const END_BYTES = 8;
/** Memory of a place. */
const PLACE_BYTES = 100;

/** Locations of the pages of some columns of a file, as far as reading their values by row number needs. */
export class PageIndex {
  constructor(
    /** Rows of the file. */
    readonly rows: number,
    private readonly places: ReadonlyMap<string, ColumnPlaces>,
  ) {}

  /** Memory that it takes. */
  get heldBytes(): number {
    return [...this.places.values()].reduce((sum, { pages }) => sum + pages.length * PLACE_BYTES, 0);
  }

  /** The page that holds a row of a column. @throws Error when the file has no such row or column */
  find(column: string, row: number): PagePlace {
    const places = this.places.get(column)?.pages ?? [];
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[middle]?.firstRow ?? 0) <= row) low = middle + 1;
      else high = middle;
    }
    const place = places[low - 1];
    if (!place || row < 0 || row >= this.rows) throw new Error(`it has no row ${row} of ${column}`);
    return place;
  }

  /** Pages of a column in the row group that begins with a row; undefined where none does. */
  findChunk(column: string, firstRow: number): ChunkPlace | undefined {
    return this.places.get(column)?.chunks.get(firstRow);
  }
}

/**
 * Reads the footer of a file of `ParquetWriter`, and the locations of the pages of these columns, which hold nullable text.
 * Locations have no checksum, so everything that they say twice is compared.
 * @throws Error when the file is not whole
 */
export async function readPageIndex(
  read: ReadBytes,
  bytes: number,
  columns: readonly string[],
): Promise<PageIndex> {
  let tail = await read(Math.max(0, bytes - TAIL_BYTES), bytes);
  const needed = tail.length < END_BYTES ? Infinity : tail.readUInt32LE(tail.length - END_BYTES) + END_BYTES;
  if (needed > Math.min(bytes, MOST_TAIL_BYTES)) throw new Error('its end is not that of a Parquet file');
  if (needed > tail.length) tail = await read(bytes - needed, bytes);
  const metadata = parquetMetadata(tail, { geoparquet: false });
  const chunks = columns.map((column) => chunksOf(metadata, column));
  const first = Math.min(
    bytes,
    ...chunks.flat().map(({ chunk }) => Number(chunk.offset_index_offset ?? bytes)),
  );
  if (bytes - first > MOST_TAIL_BYTES) throw new Error('its page index is too long');
  if (bytes - first > tail.length) tail = await read(first, bytes);
  const start = bytes - tail.length;
  const places = columns.map((column, at) => [column, placesOf(chunks[at] ?? [], tail, start)] as const);
  return new PageIndex(Number(metadata.num_rows), new Map(places));
}

interface Chunk {
  readonly chunk: ColumnChunk;
  readonly group: RowGroup;
}

function chunksOf({ schema, row_groups }: FileMetaData, column: string): Chunk[] {
  const isText = schema.some(
    ({ name, type, repetition_type: kind }) =>
      name === column && type === 'BYTE_ARRAY' && kind === 'OPTIONAL',
  );
  return row_groups.map((group) => {
    const chunk = group.columns.find(({ meta_data: found }) => found?.path_in_schema.join('.') === column);
    if (!isText || !chunk) throw new Error(`it has no texts ${column}`);
    if (chunk.meta_data?.codec !== 'ZSTD') throw new Error(`${column} is not compressed by zstd`);
    return { chunk, group };
  });
}

function placesOf(chunks: readonly Chunk[], tail: Buffer, tailStart: number): ColumnPlaces {
  const all: PagePlace[] = [];
  const chunksByRow = new Map<number, ChunkPlace>();
  let groupStart = 0;
  for (const { chunk, group } of chunks) {
    const { meta_data: found, offset_index_offset: offset, offset_index_length: length } = chunk;
    if (!found || offset === undefined || length === undefined) throw new Error('it has no page index');
    const from = Number(offset) - tailStart;
    const pages = readOffsetIndex(readerOf(tail.subarray(from, from + length))).page_locations;
    const rows = Number(group.num_rows);
    const uncompressedBytes = Number(found.total_uncompressed_size);
    const meanBytes = Math.ceil(uncompressedBytes / pages.length);
    const own: PagePlace[] = [];
    let next = Number(found.data_page_offset);
    for (const [at, page] of pages.entries()) {
      const firstRow = Number(page.first_row_index);
      const end = Number(pages[at + 1]?.first_row_index ?? rows);
      const { compressed_page_size: bytes } = page;
      if (Number(page.offset) !== next || bytes <= 0 || end <= firstRow || (at === 0 && firstRow !== 0))
        throw new Error('its page index contradicts itself');
      own.push({ offset: next, bytes, firstRow: groupStart + firstRow, rows: end - firstRow, meanBytes });
      next += bytes;
    }
    if (next !== Number(found.data_page_offset) + Number(found.total_compressed_size))
      throw new Error('its page index contradicts its footer');
    chunksByRow.set(groupStart, { pages: own, rows, uncompressedBytes });
    for (const place of own) all.push(place);
    groupStart += rows;
  }
  return { pages: all, chunks: chunksByRow };
}

function readerOf(bytes: Buffer): { view: DataView<ArrayBuffer>; offset: number } {
  return { view: new DataView(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length), offset: 0 };
}

/** The values of one page. */
export class TextPage {
  constructor(
    private readonly bytes: Buffer,
    /** Offset of the value of each row; -1: null. */
    private readonly starts: Int32Array,
    private readonly firstRow: number,
  ) {}

  /** Memory that it takes. */
  get heldBytes(): number {
    return this.bytes.length + this.starts.byteLength;
  }

  /** The value of a row of the file, as a part of the page; undefined: null. */
  at(row: number): Buffer | undefined {
    const start = this.starts[row - this.firstRow];
    if (start === undefined) throw new Error(`the page has no row ${row}`);
    return start < 0 ? undefined : this.bytes.subarray(start, start + this.bytes.readUInt32LE(start - 4));
  }
}

const inflate = promisify(zstdDecompress);

/**
 * Compares a page with its checksum, and its header with the page index.
 * @param bytes of the page with its header
 * @returns its compressed values, their length before the compression, and that of the header
 * @throws Error when they are not those that were written
 */
export function checkTextPage(
  bytes: Buffer,
  place: PagePlace,
): { readonly body: Buffer; readonly length: number; readonly headerBytes: number } {
  const reader = readerOf(bytes);
  const header = parquetHeader(reader);
  const body = bytes.subarray(reader.offset);
  if ((crc32(body) | 0) !== header.crc) throw new Error('a page does not have its checksum');
  const { num_values: rows, encoding, definition_level_encoding: levels } = header.data_page_header ?? {};
  const isText = header.type === 'DATA_PAGE' && encoding === 'PLAIN' && levels === 'RLE';
  if (header.compressed_page_size !== body.length || rows !== place.rows || !isText)
    throw new Error('the header of a page contradicts the page index');
  return { body, length: header.uncompressed_page_size, headerBytes: reader.offset };
}

/**
 * The values of a page.
 * @param bytes of the page with its header
 * @throws Error when they are not those that were written
 */
export async function decodeTextPage(bytes: Buffer, place: PagePlace): Promise<TextPage> {
  const { body, length } = checkTextPage(bytes, place);
  // in one piece, with a byte to spare: a full one is followed by another
  const page = await inflate(body, { maxOutputLength: length, chunkSize: Math.max(64, length + 1) });
  // zlib ends with the first frame and reports nothing of those behind it
  if (page.length !== length) throw new Error(`a page has ${page.length} bytes instead of ${length}`);
  return new TextPage(page, startsOf(page, place.rows), place.firstRow);
}

function startsOf(page: Buffer, rows: number): Int32Array {
  const reader = readerOf(page);
  const levels = new Uint8Array(rows);
  readRleBitPackedHybrid(reader, 1, levels);
  let at = reader.offset;
  const starts = Int32Array.from(levels, (level) => {
    if (level === 0) return -1;
    const start = at + 4;
    at = start + page.readUInt32LE(at);
    return start;
  });
  if (at !== page.length) throw new Error('a page is longer than its values');
  return starts;
}
