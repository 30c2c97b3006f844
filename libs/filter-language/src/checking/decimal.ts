/** A decimal number without loss: `digits` × 10^-`scale`. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/;

/** @param text a number of a filter, of JSON, or of Postgres */
export function parseDecimal(text: string): Decimal | undefined {
  const match = DECIMAL.exec(text);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(sign + whole + fraction);
  const scale = fraction.length - Number(exponent);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

/** Result of a comparison: below 0, 0 or above 0, as the first is less, equal or greater. */
export function compareDecimals(one: Decimal, other: Decimal): number {
  const a = one.digits * 10n ** BigInt(Math.max(0, other.scale - one.scale));
  const b = other.digits * 10n ** BigInt(Math.max(0, one.scale - other.scale));
  return a < b ? -1 : a > b ? 1 : 0;
}
