/** A count of tokens; undefined for any other value. */
export function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(Math.round(value)) && value >= 0
    ? Math.round(value)
    : undefined;
}

const DECIMAL = /^(\d{1,20})(?:\.(\d{0,40}))?(?:e([+-]?\d{1,3}))?$/i;
/** Digits after the point of NUMERIC(18,10), and what its units are below. */
const DIGITS = 10;
const MOST_UNITS = 10n ** 18n;

/**
 * Costs are NUMERIC(18,10); a value that does not fit is dropped rather than rounded beyond recognition.
 * Computed in decimals: a double has not all digits of a cost above 100,000.
 * @param value a text, or a number, whose shortest text has the digits that were sent
 */
export function cost(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  const [, whole, part = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const shift = DIGITS + Number(exponent) - part.length;
  const units = rounded(BigInt(whole + part), shift);
  if (units >= MOST_UNITS) return undefined;
  const digits = String(units).padStart(DIGITS + 1, '0');
  return `${digits.slice(0, -DIGITS)}.${digits.slice(-DIGITS)}`;
}

/** Moved by so many decimal places, half up. */
function rounded(digits: bigint, shift: number): bigint {
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor / 2n) / divisor;
}
