import type { Environment } from '@marcbachmann/cel-js';
import { jsonEquals } from '#lib/json';

/** Order of two CEL values of one type; numbers of different types compare by value. */
function compareCel(left: unknown, right: unknown): number {
  if (left instanceof Date && right instanceof Date) return left.getTime() - right.getTime();
  if (isOrdered(left) && isOrdered(right)) return left < right ? -1 : left > right ? 1 : 0;
  return 0;
}

function isOrdered(value: unknown): value is number | bigint | string | boolean {
  return ['number', 'bigint', 'string', 'boolean'].includes(typeof value);
}

/** Equality of CEL values; 1 and 1.0 are equal. */
function equalCel(left: unknown, right: unknown): boolean {
  const isMixed = typeof left !== typeof right && isNumber(left) && isNumber(right);
  return isMixed ? Number(left) === Number(right) : jsonEquals(left, right);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Arguments of a namespace like `sets`: no values of their own. */
class SetsNamespace {}

/** Kubernetes' list library (`sum`, `min`, `max`, `isSorted`, `indexOf`, `lastIndexOf`) and CEL's `sets`. */
export function registerListFunctions(environment: Environment): void {
  environment.registerFunction('list.sum(): dyn', sum);
  environment.registerFunction('list.min(): dyn', (list: readonly unknown[]) => extreme(list, 'min', -1));
  environment.registerFunction('list.max(): dyn', (list: readonly unknown[]) => extreme(list, 'max', 1));
  environment.registerFunction('list.isSorted(): bool', isSorted);
  environment.registerFunction('list.indexOf(dyn): int', (list: readonly unknown[], value: unknown) =>
    BigInt(list.findIndex((item) => equalCel(item, value))),
  );
  environment.registerFunction('list.lastIndexOf(dyn): int', (list: readonly unknown[], value: unknown) =>
    BigInt(list.findLastIndex((item) => equalCel(item, value))),
  );
  registerSets(environment);
}

function registerSets(environment: Environment): void {
  environment.registerType('SetsNamespace', SetsNamespace);
  environment.registerConstant('sets', 'SetsNamespace', new SetsNamespace());
  const holds = (list: readonly unknown[], item: unknown): boolean =>
    list.some((other) => equalCel(other, item));
  const covers = (left: readonly unknown[], right: readonly unknown[]): boolean =>
    right.every((item) => holds(left, item));
  type Lists = [unknown, readonly unknown[], readonly unknown[]];
  environment.registerFunction('SetsNamespace.contains(list, list): bool', (...[, left, right]: Lists) =>
    covers(left, right),
  );
  environment.registerFunction(
    'SetsNamespace.equivalent(list, list): bool',
    (...[, left, right]: Lists) => covers(left, right) && covers(right, left),
  );
  environment.registerFunction('SetsNamespace.intersects(list, list): bool', (...[, left, right]: Lists) =>
    left.some((item) => holds(right, item)),
  );
}

function sum(list: readonly unknown[]): unknown {
  if (list.length === 0) return 0n;
  if (list.every((item) => typeof item === 'bigint')) return list.reduce((total, item) => total + item, 0n);
  return list.reduce((total: number, item) => total + Number(item), 0);
}

function extreme(list: readonly unknown[], word: string, sign: number): unknown {
  if (list.length === 0) throw new Error(`${word} called on empty list`);
  return list.reduce((best, item) => (compareCel(item, best) * sign > 0 ? item : best));
}

function isSorted(list: readonly unknown[]): boolean {
  return list.every((item, index) => index === 0 || compareCel(list[index - 1], item) <= 0);
}
