export type { ColumnType, ParquetColumn } from './column-type.js';
export type { Compression } from './compression.js';
export { readMicros, readUuid } from './field-values.js';
export { ParquetWriter, type ParquetWriterOptions } from './parquet-writer.js';
