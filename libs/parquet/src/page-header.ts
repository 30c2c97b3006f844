import { ThriftWriter } from './thrift-writer.js';

/** Numbers of parquet.thrift. */
export const PAGE_TYPE = { data: 0, dictionary: 2 } as const;
export const ENCODING = { plain: 0, rle: 3, rleDictionary: 8 } as const;

export interface PageHeader {
  readonly type: number;
  /** Nulls and empty lists count. */
  readonly values: number;
  readonly encoding: number;
  readonly uncompressedBytes: number;
  readonly compressedBytes: number;
  /** CRC-32 of the compressed bytes. */
  readonly checksum: number;
}

/** Header of a page: version 1 pages, since version 2 is still not read everywhere. */
export function renderPageHeader(header: PageHeader): Buffer {
  const isData = header.type === PAGE_TYPE.data;
  const thrift = new ThriftWriter()
    .begin()
    .i32(1, header.type)
    .i32(2, header.uncompressedBytes)
    .i32(3, header.compressedBytes)
    .i32(4, header.checksum | 0)
    .struct(isData ? 5 : 7)
    .i32(1, header.values)
    .i32(2, header.encoding);
  if (isData) thrift.i32(3, ENCODING.rle).i32(4, ENCODING.rle);
  return thrift.end().end().bytes;
}
