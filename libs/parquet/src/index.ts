export type { ColumnType, ParquetColumn } from './column-type.js';
export type { CopiedChunk } from './column-writer.js';
export { forEachElement, readDecimal, readInt64, readMicros, readUuid } from './field-values.js';
export { ParquetWriter } from './parquet-writer.js';
export {
  checkTextPage,
  type ChunkPlace,
  decodeTextPage,
  PageIndex,
  type PagePlace,
  readPageIndex,
  TextPage,
} from './text-pages.js';
