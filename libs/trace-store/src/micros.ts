/**
 * A point in time as whole microseconds since 1970-01-01T00:00:00Z: the resolution of the SDK's wire, of Postgres and
 * of the files. A Date has milliseconds only and would move runs across a cursor.
 */
export type Micros = bigint;

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}:?(?:\d{2})?)?)?$/i;

/** Earliest and latest time that a run may carry: the years 1 to 9999, which every format here can hold. */
const MIN = -62_135_596_800_000_000n;
const MAX = 253_402_300_799_999_999n;

function offsetMinutes(zone: string | undefined): number {
  if (zone === undefined || zone === 'Z' || zone === 'z') return 0;
  const digits = zone.slice(1).replace(':', '');
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || 0);
  return zone.startsWith('-') ? -minutes : minutes;
}

function isRealZone(zone: string | undefined): boolean {
  const digits = zone?.replace(/[^0-9]/g, '') ?? '';
  return Number(digits.slice(0, 2)) < 24 && Number(digits.slice(2)) < 60;
}

function fromIso(text: string): Micros | undefined {
  const match = ISO.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = match;
  const millis = Date.UTC(2000, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  const date = new Date(millis);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isReal =
    date.getUTCMonth() === Number(month) - 1 &&
    date.getUTCDate() === Number(day) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60 &&
    isRealZone(zone);
  if (!isReal) return undefined;
  const micros = BigInt(fraction.padEnd(6, '0').slice(0, 6));
  return BigInt(date.getTime() - offsetMinutes(zone) * 60_000) * 1000n + micros;
}

/**
 * Reads a time of the wire: ISO 8601 (without a zone it is UTC, digits past the microsecond are cut) or a number of
 * milliseconds since 1970.
 * @returns undefined for everything else, and outside of the years 1 to 9999
 */
export function parseMicros(value: unknown): Micros | undefined {
  let micros: Micros | undefined;
  if (typeof value === 'string') micros = fromIso(value.trim());
  else if (typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < 1e15)
    micros = BigInt(Math.round(value * 1000));
  return micros === undefined || micros < MIN || micros > MAX ? undefined : micros;
}

/** ISO 8601 in UTC with six digits, as Postgres and the SDK read it: `2026-11-20T21:59:04.635001Z`. */
export function microsToIso(micros: Micros): string {
  let millis = micros / 1000n;
  let rest = micros % 1000n;
  if (rest < 0n) {
    millis -= 1n;
    rest += 1000n;
  }
  const text = new Date(Number(millis)).toISOString();
  return `${text.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

export function microsOf(date: Date): Micros {
  return BigInt(date.getTime()) * 1000n;
}
