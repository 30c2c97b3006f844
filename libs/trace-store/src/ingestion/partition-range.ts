import { formatInstant, type Instant, MICROS_PER_DAY, parseInstant } from '#lib/time';

/** Days, `from` inclusive, `to` exclusive; both midnights UTC. */
export interface DayRange {
  readonly from: Instant;
  readonly to: Instant;
}

/** Days before and after today that have a partition each. */
export const RECENT = 7n * MICROS_PER_DAY;
/** Older runs come in imports and are read rarely: their partitions are years. */
const OLD = 3n * 366n * MICROS_PER_DAY;

/** True when the day is one of those around today. */
export function isRecent(day: Instant, today: Instant): boolean {
  return day >= today - RECENT && day <= today + RECENT;
}

/**
 * The days that share a partition with this one: itself alone around today, else those of its month, or of its year
 * when it is long past, as far as no other partition has them. So an import of years costs a few dozen partitions, and
 * a client that sends a run for each day of a century costs others nothing.
 * @param taken ranges of the partitions that exist; none holds the day
 */
export function partitionRange(day: Instant, today: Instant, taken: readonly DayRange[]): DayRange {
  if (isRecent(day, today)) return { from: day, to: day + MICROS_PER_DAY };
  let { from, to } = periodOf(day, day < today - OLD ? 'year' : 'month');
  // the days around today are left to partitions of their own
  if (day < today) to = earlier(to, today - RECENT);
  else from = later(from, today + RECENT + MICROS_PER_DAY);
  for (const other of taken) {
    if (other.to <= day) from = later(from, other.to);
    if (other.from > day) to = earlier(to, other.from);
  }
  return { from, to };
}

function periodOf(day: Instant, kind: 'year' | 'month'): DayRange {
  const text = formatInstant(day);
  const [year, month] = [Number(text.slice(0, 4)), Number(text.slice(5, 7))];
  return kind === 'year'
    ? { from: firstOf(year, 1), to: firstOf(year + 1, 1) }
    : { from: firstOf(year, month), to: month === 12 ? firstOf(year + 1, 1) : firstOf(year, month + 1) };
}

function firstOf(year: number, month: number): Instant {
  return midnight(`${year}${String(month).padStart(2, '0')}01`);
}

function midnight(digits: string): Instant {
  const text = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6, 8)}T00:00:00Z`;
  const instant = parseInstant(text, { zone: 'required' });
  if (instant === undefined) throw new Error(`reading the day ${digits} failed: it is no date`);
  return instant;
}

function earlier(one: Instant, other: Instant): Instant {
  return one < other ? one : other;
}

function later(one: Instant, other: Instant): Instant {
  return one > other ? one : other;
}

/** `20261122`, or `20261101_20261115` for more than a day; the end is exclusive. */
export function rangeSuffix({ from, to }: DayRange): string {
  const [first, end] = [from, to].map((day) => formatInstant(day).slice(0, 10).replaceAll('-', ''));
  return to - from === MICROS_PER_DAY ? `${first}` : `${first}_${end}`;
}

/** The range in a table's name; undefined for names of another form. */
export function rangeOfName(name: string): DayRange | undefined {
  const [, first, end] = /_(\d{8})(?:_(\d{8}))?$/.exec(name) ?? [];
  if (first === undefined) return undefined;
  const from = midnight(first);
  return { from, to: end === undefined ? from + MICROS_PER_DAY : midnight(end) };
}
