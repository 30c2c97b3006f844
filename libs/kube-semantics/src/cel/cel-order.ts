import { jsonEquals } from '#lib/json';

/** Order of two CEL values of one type; numbers of different types compare by value. */
export function compareCel(left: unknown, right: unknown): number {
  if (left instanceof Date && right instanceof Date) return left.getTime() - right.getTime();
  if (isOrdered(left) && isOrdered(right)) return left < right ? -1 : left > right ? 1 : 0;
  return 0;
}

function isOrdered(value: unknown): value is number | bigint | string | boolean {
  return ['number', 'bigint', 'string', 'boolean'].includes(typeof value);
}

/** Equality of CEL values; 1 and 1.0 are equal. */
export function equalCel(left: unknown, right: unknown): boolean {
  const isMixed = typeof left !== typeof right && isNumber(left) && isNumber(right);
  return isMixed ? Number(left) === Number(right) : jsonEquals(left, right);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}
