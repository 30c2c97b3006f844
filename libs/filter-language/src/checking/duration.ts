import { parseDecimal } from './decimal.js';

const MICROS_PER_UNIT: Readonly<Record<string, bigint>> = {
  ms: 1_000n,
  s: 1_000_000n,
  m: 60_000_000n,
  h: 3_600_000_000n,
  d: 86_400_000_000n,
};

const DURATION = /^([0-9]{1,12}(?:\.[0-9]{1,9})?) ?(ms|s|m|h|d)$/;

/** A century; Postgres' intervals and times end far beyond. */
const MAX_MICROS = 36_525n * 86_400_000_000n;

function micros(number: string, unit: bigint): bigint | undefined {
  const decimal = parseDecimal(number);
  if (!decimal) return undefined;
  const found = (decimal.digits * unit) / 10n ** BigInt(decimal.scale);
  return found > MAX_MICROS || found < -MAX_MICROS ? undefined : found;
}

/**
 * Microseconds of a duration with its unit, digits past them cut.
 * @returns undefined for other units and for more than a century
 */
export function parseDuration(text: string): bigint | undefined {
  const match = DURATION.exec(text);
  const unit = MICROS_PER_UNIT[match?.[2] ?? ''];
  return unit === undefined ? undefined : micros(match?.[1] ?? '', unit);
}

/** The same of a number of seconds. */
export function parseSeconds(number: string): bigint | undefined {
  return micros(number, 1_000_000n);
}
