import { isWithinYears, parseInstant, type Instant } from '#lib/time';

/**
 * Reads a time as tracing SDKs send it: ISO 8601, in UTC without a zone, or a number of milliseconds since 1970.
 * @returns undefined for everything else, and outside of the years 1 to 9999
 */
export function parseWireTime(value: unknown): Instant | undefined {
  if (typeof value === 'string') return parseInstant(value, { zone: 'optional' });
  if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) >= 1e15) return undefined;
  const instant = BigInt(Math.round(value * 1000));
  return isWithinYears(instant) ? instant : undefined;
}
