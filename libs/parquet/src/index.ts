export type { ColumnType, ParquetColumn } from './column-type.js';
export { forEachElement, readDecimal, readInt64, readMicros, readUuid } from './field-values.js';
export { ParquetWriter } from './parquet-writer.js';
