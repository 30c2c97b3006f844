import { type Comparison, fieldRow, type Operand, type PairField, type RunField } from '#lib/filter-language';
import { formatInstant } from '#lib/time';
import type { SqlType, SqlValues } from './sql-values.js';

/** Location of the value of a field: SQL over its row, and its type there. */
export interface FieldSql {
  readonly sql: string;
  readonly type: SqlType | 'boolean';
}

const ORDER = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** A value as the text that Postgres casts to its type. */
function textOf(field: RunField | PairField, operand: Operand): string {
  if (typeof operand !== 'bigint') return String(operand);
  return fieldRow(field).type === 'duration' ? `${operand} microseconds` : formatInstant(operand);
}

/** A list as the text of a Postgres array: every item in quotes. */
function arrayText(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/** A comparison of a field with a value. Unknown counts as false; `neq` with a missing value is true. */
export function compareSql(
  { field, operator, values }: Comparison<RunField | PairField>,
  { sql, type }: FieldSql,
  out: SqlValues,
): string {
  const [value = null] = values;
  if (value === null && operator !== 'in') return `${sql} IS ${operator === 'neq' ? 'NOT NULL' : 'NULL'}`;
  if (type === 'boolean') return (operator === 'eq') === (value === true) ? sql : `NOT ${sql}`;
  const text = textOf(field, value);
  switch (operator) {
    case 'eq':
      return `${sql} = ${out.bind(type, text)}`;
    case 'neq':
      return `${sql} IS DISTINCT FROM ${out.bind(type, text)}`;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return `${sql} ${ORDER[operator]} ${out.bind(type, text)}`;
    case 'in':
      return `${sql} = ANY (${out.bind(`${type}[]`, arrayText(values.map((item) => textOf(field, item))))})`;
    case 'like':
      return `${sql} LIKE ${out.bind(type, text)} ESCAPE ''`;
    default:
      return operator satisfies never;
  }
}
