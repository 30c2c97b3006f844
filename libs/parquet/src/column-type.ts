/** Type of a column's values: Postgres' binary form on one side and Parquet's on the other. */
export type ColumnType =
  /** uuid → STRING: the UUID type is read as raw bytes by too many programs. */
  | 'uuid'
  | 'text'
  /** timestamptz → TIMESTAMP(MICROS, UTC). */
  | 'timestamp'
  | 'bool'
  /** int8 → INT64. */
  | 'int64'
  /** numeric(18,10) → DECIMAL(18,10). */
  | 'decimal'
  /** float8 → DOUBLE. */
  | 'double'
  /** uuid[] and text[] → LIST<STRING>; elements are never null. */
  | 'uuid-list'
  | 'text-list'
  /** The same as text: a JSON array. */
  | 'uuid-list-as-text'
  | 'text-list-as-text';

export interface ParquetColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Number of the tuple's field that holds it. */
  readonly field: number;
  /** Id by which tables name the column, and that of the elements of a list. */
  readonly ids?: { readonly column: number; readonly element: number };
  /** True for values that repeat. A dictionary that grows too large is given up within its row group. */
  readonly dictionary?: boolean;
  /** Smallest and largest value of each row group and page; of texts, their first 64 bytes at most. */
  readonly statistics?: boolean;
  /**
   * True for payloads, which repeat text from megabytes before: pages of `longPageBytes` if the compression
   * looks back as far.
   */
  readonly longPages?: boolean;
}

/** Numbers of parquet.thrift. */
export const PHYSICAL = { boolean: 0, int64: 2, double: 5, byteArray: 6 } as const;
export type PhysicalType = (typeof PHYSICAL)[keyof typeof PHYSICAL];

export const DECIMAL_PRECISION = 18;
export const DECIMAL_SCALE = 10;

export function physicalType(type: ColumnType): PhysicalType {
  switch (type) {
    case 'bool':
      return PHYSICAL.boolean;
    case 'timestamp':
    case 'int64':
    case 'decimal':
      return PHYSICAL.int64;
    case 'double':
      return PHYSICAL.double;
    case 'uuid':
    case 'text':
    case 'uuid-list':
    case 'text-list':
    case 'uuid-list-as-text':
    case 'text-list-as-text':
      return PHYSICAL.byteArray;
    default:
      return type satisfies never;
  }
}

export function isList(type: ColumnType): boolean {
  return type === 'uuid-list' || type === 'text-list';
}

/** Definition level of a value that is present; lower levels stand for a missing element or list. */
export function maxDefinitionLevel({ type, nullable }: ParquetColumn): number {
  return (nullable ? 1 : 0) + (isList(type) ? 1 : 0);
}
