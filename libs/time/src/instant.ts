/**
 * A point in time as whole microseconds since 1970-01-01T00:00:00Z: the resolution of the SDK's wire, of Postgres and of
 * the files. A `Date` would drop the last three digits, and a row one microsecond before midnight belongs to the day
 * before.
 */
export type Instant = bigint;

export const MICROS_PER_DAY = 86_400_000_000n;

const MICROS_PER_SECOND = 1_000_000n;

/** The years 1 to 9999, which every format here can hold. */
const EARLIEST = -62_135_596_800_000_000n;
const LATEST = 253_402_300_799_999_999n;

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}:?(?:\d{2})?)?)?$/i;

/**
 * Usual form printed by programs: a whole time in UTC, with `T` or a space, no fraction or one of at most six
 * digits.
 */
const USUAL = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|\+00|\+00:00)$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** Milliseconds of a day that was asked for lately: most times of a request are of one or two. */
const known = { year: 0, month: 0, day: 0, ms: NaN };

/** Result of `parseInstant` for the usual form, at a fraction of its cost; undefined for other forms. */
function parseUsual(text: string): Instant | undefined {
  if (!USUAL.test(text)) return undefined;
  const two = (at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 528;
  const [year, month, day] = [two(0) * 100 + two(2), two(5), two(8)];
  const [hour, minute, second] = [two(11), two(14), two(17)];
  // February 29 as well
  if (year < 1000 || month < 1 || month > 12 || day < 1 || day > (DAYS[month - 1] ?? 0)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  if (known.day !== day || known.month !== month || known.year !== year)
    Object.assign(known, { year, month, day, ms: Date.UTC(year, month - 1, day) });
  let micros = 0;
  if (text.charCodeAt(19) === 46) {
    let at = 20;
    for (let unit = 100_000; unit >= 1; unit /= 10) {
      const digit = text.charCodeAt(at) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      micros += digit * unit;
      at++;
    }
  }
  const ms = known.ms + ((hour * 60 + minute) * 60 + second) * 1000;
  const whole = ms * 1000 + micros;
  return Number.isSafeInteger(whole) ? BigInt(whole) : BigInt(ms) * 1000n + BigInt(micros);
}

function offsetMinutes(zone: string): number {
  if (zone === 'Z' || zone === 'z') return 0;
  const digits = zone.slice(1).replace(':', '');
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || 0);
  return zone.startsWith('-') ? -minutes : minutes;
}

function isRealZone(zone: string): boolean {
  const digits = zone.replace(/[^0-9]/g, '');
  return Number(digits.slice(0, 2)) < 24 && Number(digits.slice(2)) < 60;
}

/**
 * Parses ISO 8601: a day, or a day and a time, with `T` or a space between them. Digits past the microsecond are cut,
 * which keeps an exclusive end exclusive for every row that the database can hold.
 * @param zone `optional`: without one it is UTC, and a day alone is its midnight
 * @returns undefined for everything else, for a day or time that does not exist, and outside of the years 1 to 9999
 */
export function parseInstant(
  text: string,
  { zone: wanted }: { readonly zone: 'required' | 'optional' },
): Instant | undefined {
  const usual = parseUsual(text);
  if (usual !== undefined) return usual;
  const match = ISO.exec(text.trim());
  if (!match) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = match;
  if (wanted === 'required' && match[8] === undefined) return undefined;
  const date = new Date(
    Date.UTC(2000, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)),
  );
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day)); // Date.UTC takes years below 100 for 19xx
  const isReal =
    date.getUTCMonth() === Number(month) - 1 &&
    date.getUTCDate() === Number(day) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60 &&
    isRealZone(zone);
  if (!isReal) return undefined;
  const micros = BigInt(fraction.padEnd(6, '0').slice(0, 6));
  const instant = BigInt(date.getTime() - offsetMinutes(zone) * 60_000) * 1000n + micros;
  return isWithinYears(instant) ? instant : undefined;
}

/** True when an instant is in the years 1 to 9999. */
export function isWithinYears(instant: Instant): boolean {
  return instant >= EARLIEST && instant <= LATEST;
}

const MS_PER_DAY = 86_400_000;
const TWO = Array.from({ length: 100 }, (_none, number) => String(number).padStart(2, '0'));
/** Cache like `known`, the other way around. */
const printed = { day: NaN, text: '' };

/** Formats by hand: `Date` prints a time at three times the cost of this. */
function formatSafe(micros: number): string {
  const ms = Math.floor(micros / 1000);
  const day = Math.floor(ms / MS_PER_DAY);
  if (printed.day !== day)
    Object.assign(printed, { day, text: new Date(day * MS_PER_DAY).toISOString().slice(0, 11) });
  const ofDay = ms - day * MS_PER_DAY;
  const seconds = Math.floor(ofDay / 1000);
  const minutes = Math.floor(seconds / 60);
  const fraction = (ofDay - seconds * 1000) * 1000 + (micros - ms * 1000);
  const two = (number: number): string => TWO[Math.floor(number)] ?? '';
  const time = `${two(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${printed.text}${time}.${two(fraction / 10_000)}${two((fraction / 100) % 100)}${two(fraction % 100)}Z`;
}

/**
 * ISO 8601 in UTC as Postgres, the SDK and the files have it: `2026-11-20T21:59:04.635001Z`.
 * @param fraction `if-any` leaves out one that is zero, as Kubernetes objects and messages have it
 */
export function formatInstant(instant: Instant, fraction: 'always' | 'if-any' = 'always'): string {
  const whole = Number(instant);
  if (fraction === 'always' && Number.isSafeInteger(whole)) return formatSafe(whole);
  const micros = ((instant % MICROS_PER_SECOND) + MICROS_PER_SECOND) % MICROS_PER_SECOND;
  const seconds = new Date(Number((instant - micros) / 1000n)).toISOString().slice(0, 19);
  if (micros === 0n && fraction === 'if-any') return `${seconds}Z`;
  return `${seconds}.${String(micros).padStart(6, '0')}Z`;
}

/** Midnight UTC at or before the instant. */
export function dayOf(instant: Instant): Instant {
  const into = ((instant % MICROS_PER_DAY) + MICROS_PER_DAY) % MICROS_PER_DAY;
  return instant - into;
}

export function instantOf(date: Date): Instant {
  return BigInt(date.getTime()) * 1000n;
}
