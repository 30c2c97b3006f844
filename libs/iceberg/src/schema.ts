/** Type of a column of a table, in Iceberg's words; a list has text elements that are never null. */
export type IcebergType =
  'string' | 'timestamptz' | 'boolean' | 'long' | 'double' | 'decimal(18, 10)' | 'list';

export interface IcebergColumn {
  readonly name: string;
  readonly type: IcebergType;
  readonly nullable: boolean;
  /** Never used for another column of the table: files name their columns by it. */
  readonly fieldId: number;
}

/** Field id of the elements of a list, beyond those of columns. */
export function elementId({ fieldId }: Pick<IcebergColumn, 'fieldId'>): number {
  return 1000 + fieldId;
}

/** Field id of the partition of a day. */
export const DAY_FIELD_ID = 5000;

/** Schema of a table, as its metadata have it. */
export function renderSchema(columns: readonly IcebergColumn[]): object {
  return {
    type: 'struct',
    'schema-id': 0,
    fields: columns.map((column) => ({
      id: column.fieldId,
      name: column.name,
      required: !column.nullable,
      type:
        column.type === 'list'
          ? { type: 'list', 'element-id': elementId(column), element: 'string', 'element-required': true }
          : column.type,
    })),
  };
}

/** Names of the fields, for files whose columns have no ids. */
export function renderNameMapping(columns: readonly IcebergColumn[]): string {
  return JSON.stringify(
    columns.map((column) => ({
      'field-id': column.fieldId,
      names: [column.name],
      fields:
        column.type === 'list' ? [{ 'field-id': elementId(column), names: ['element', 'item'] }] : undefined,
    })),
  );
}

/** Fields of the one partition spec: the day of a column, or none. */
export function renderPartitionFields(dayOf: IcebergColumn | undefined): readonly object[] {
  if (!dayOf) return [];
  const name = `${dayOf.name}_day`;
  return [{ name, transform: 'day', 'source-id': dayOf.fieldId, 'field-id': DAY_FIELD_ID }];
}
