export type { ColumnType, ParquetColumn } from './column-type.js';
export { readMicros, readUuid } from './field-values.js';
export { ParquetWriter } from './parquet-writer.js';
