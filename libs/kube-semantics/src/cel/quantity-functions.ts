import type { Environment } from '@marcbachmann/cel-js';
import { parseQuantity } from '../quantity/quantity.js';

const NANO = 10n ** 9n;

/** A quantity inside a rule. */
class CelQuantity {
  constructor(readonly nano: bigint) {}
}

/** Kubernetes' quantity library. */
export function registerQuantityFunctions(environment: Environment): void {
  const type = 'kubernetes.Quantity';
  environment.registerType(type, CelQuantity);
  environment.registerFunction(
    'isQuantity(string): bool',
    (text: string) => parseQuantity(text) !== undefined,
  );
  environment.registerFunction(`quantity(string): ${type}`, parse);
  environment.registerFunction(`${type}.isInteger(): bool`, (value: CelQuantity) => value.nano % NANO === 0n);
  environment.registerFunction(`${type}.asInteger(): int`, (value: CelQuantity) => {
    if (value.nano % NANO !== 0n) throw new Error('cannot convert value to integer');
    return value.nano / NANO;
  });
  environment.registerFunction(
    `${type}.asApproximateFloat(): double`,
    (value: CelQuantity) => Number(value.nano) / 1e9,
  );
  environment.registerFunction(`${type}.sign(): int`, ({ nano }: CelQuantity) =>
    nano > 0n ? 1n : nano < 0n ? -1n : 0n,
  );
  const compare = (left: CelQuantity, right: CelQuantity): bigint =>
    left.nano < right.nano ? -1n : left.nano > right.nano ? 1n : 0n;
  environment.registerFunction(`${type}.compareTo(${type}): int`, compare);
  environment.registerFunction(
    `${type}.isLessThan(${type}): bool`,
    (a: CelQuantity, b: CelQuantity) => compare(a, b) < 0n,
  );
  environment.registerFunction(
    `${type}.isGreaterThan(${type}): bool`,
    (a: CelQuantity, b: CelQuantity) => compare(a, b) > 0n,
  );
  const plus = (sign: bigint) => (left: CelQuantity, right: CelQuantity | bigint) =>
    new CelQuantity(left.nano + sign * (right instanceof CelQuantity ? right.nano : right * NANO));
  for (const other of [type, 'int']) {
    environment.registerFunction(`${type}.add(${other}): ${type}`, plus(1n));
    environment.registerFunction(`${type}.sub(${other}): ${type}`, plus(-1n));
  }
}

function parse(text: string): CelQuantity {
  const found = parseQuantity(text);
  if (found === undefined) {
    throw new Error(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  return new CelQuantity(found.nano);
}
