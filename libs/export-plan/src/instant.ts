/**
 * A moment as microseconds since 1970-01-01T00:00:00Z: the resolution of the database. A `Date` would drop the last
 * three digits, and a row one microsecond before midnight belongs to the day before.
 */
export type Instant = bigint;

export const MICROS_PER_DAY = 86_400_000_000n;

const ISO = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|z|[+-]\d{2}:?\d{2})$/;

/**
 * Parses an ISO 8601 timestamp with a zone. Digits beyond microseconds are cut, which keeps an exclusive end exclusive
 * for every row that the database can hold.
 * @returns undefined when the text is no such timestamp or names a day that does not exist
 */
export function parseInstant(text: string): Instant | undefined {
  const found = ISO.exec(text.trim());
  if (!found) return undefined;
  const [, day = '', time = '', fraction = '', zone = 'Z'] = found;
  const whole = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(whole) || !existsInCalendar(day)) return undefined;
  return BigInt(whole) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

/** JavaScript reads 30 February as 2 March. */
function existsInCalendar(day: string): boolean {
  const parsed = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().slice(0, 10) === day;
}

/** `2026-08-19T00:00:00.000001Z`; no fraction when it is zero. */
export function formatInstant(instant: Instant): string {
  const micros = ((instant % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((instant - micros) / 1000n)).toISOString().slice(0, 19);
  return micros === 0n ? `${seconds}Z` : `${seconds}.${String(micros).padStart(6, '0')}Z`;
}

/** Midnight UTC at or before the instant. */
export function dayOf(instant: Instant): Instant {
  const into = ((instant % MICROS_PER_DAY) + MICROS_PER_DAY) % MICROS_PER_DAY;
  return instant - into;
}

/** The instant of a `Date`. */
export function instantOf(date: Date): Instant {
  return BigInt(date.getTime()) * 1000n;
}
