/** Digits after the point that a price of a token may have: a hundredth of a cent for 10,000 million tokens is seen. */
const PRICE_DIGITS = 15;
/** Decimal digits that a cost of a run has. */
const COST_DIGITS = 10;
/** Dollars for a token. */
const MOST = 1_000;

const DECIMAL = /^(\d{1,20})(?:\.(\d{0,40}))?(?:e([+-]?\d{1,2}))?$/i;

/**
 * A price as its plain decimal text, `2.5e-6` as `0.0000025`. A number is rounded to the digits of a price, a
 * text has to fit.
 * @returns undefined for a value that is not a price
 */
export function parsePrice(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Number.isFinite(value) && value >= 0 && value <= MOST
      ? plainPrice(value.toFixed(PRICE_DIGITS))
      : undefined;
  return typeof value === 'string' ? plainPrice(value) : undefined;
}

function plainPrice(text: string): string | undefined {
  const [, whole, part = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  // places that the digits are moved to the right
  const scale = part.length - Number(exponent);
  const digits = BigInt(whole + part);
  const tooFine = scale > PRICE_DIGITS ? 10n ** BigInt(scale - PRICE_DIGITS) : 1n;
  if (digits % tooFine !== 0n) return undefined;
  const units = scale > PRICE_DIGITS ? digits / tooFine : digits * 10n ** BigInt(PRICE_DIGITS - scale);
  return units <= BigInt(MOST) * 10n ** BigInt(PRICE_DIGITS) ? plainText(units) : undefined;
}

/** A price in units of 1e-15. @param text as `parsePrice` answers it */
export function priceUnits(text: string): bigint {
  const [whole = '0', part = ''] = text.split('.');
  return BigInt(whole + part.slice(0, PRICE_DIGITS).padEnd(PRICE_DIGITS, '0'));
}

/** Units of 1e-15 as a decimal without zeros at its end. */
export function plainText(units: bigint): string {
  const digits = String(units).padStart(PRICE_DIGITS + 1, '0');
  const part = digits.slice(-PRICE_DIGITS).replace(/0+$/, '');
  return `${digits.slice(0, -PRICE_DIGITS)}${part === '' ? '' : `.${part}`}`;
}

const PER_COST_UNIT = 10n ** BigInt(PRICE_DIGITS - COST_DIGITS);
/** NUMERIC(18,10) holds less. */
const MOST_COST = 10n ** 18n;

/** Units of 1e-15 in those of a cost, 1e-10, rounded half up. */
export function costUnits(units: bigint): bigint {
  return (units + PER_COST_UNIT / 2n) / PER_COST_UNIT;
}

/** The text of a cost with its ten digits after the point; undefined when the column cannot hold it. */
export function costText(units: bigint): string | undefined {
  if (units >= MOST_COST) return undefined;
  const digits = String(units).padStart(COST_DIGITS + 1, '0');
  return `${digits.slice(0, -COST_DIGITS)}.${digits.slice(-COST_DIGITS)}`;
}
