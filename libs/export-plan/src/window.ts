import { dayOf, formatInstant, type Instant, MICROS_PER_DAY, parseInstant } from '#lib/time';

/** One UTC day of an export, clipped to its window. */
export interface Partition extends Window {
  /** `YYYY-MM-DD`. */
  readonly day: string;
}

/** Days of one export. A longer window is almost certainly a typo in the year. */
export const MAX_PARTITIONS = 3660;

/**
 * Number of days that a window touches; cheap, so that a window of a thousand years can be refused before it
 * is split.
 */
export function countPartitions({ start, end }: Window): number {
  return end <= start ? 0 : Number((dayOf(end - 1n) - dayOf(start)) / MICROS_PER_DAY) + 1;
}

/**
 * Splits a window at every midnight UTC. The partitions touch, do not overlap, and together are the window; each keeps
 * the rule start inclusive, end exclusive.
 */
export function partitionByDay(window: Window): Partition[] {
  const partitions: Partition[] = [];
  for (let start = window.start; start < window.end;) {
    const midnight = dayOf(start) + MICROS_PER_DAY;
    const end = midnight < window.end ? midnight : window.end;
    partitions.push({ start, end, day: formatInstant(start, 'if-any').slice(0, 10) });
    start = end;
  }
  return partitions;
}

/** Time range of an export: start inclusive, end exclusive. */
export interface Window {
  readonly start: Instant;
  readonly end: Instant;
}

/** Window as a person states it; exactly one of the ways. */
interface WantedWindow {
  readonly startTime?: string;
  readonly endTime?: string;
  /** `24h`, `7d`, `90m`: this long before the creation of the export. */
  readonly last?: string;
}

/** A window, or a sentence with the reason for refusing it. */
type WindowDecision =
  | { readonly kind: 'window'; readonly window: Window }
  | { readonly kind: 'refused'; readonly message: string };

const UNIT_MICROS: Readonly<Record<string, bigint>> = {
  m: 60_000_000n,
  h: 3_600_000_000n,
  d: 86_400_000_000n,
};

/** `24h` → microseconds; minutes, hours and days are understood. Undefined for anything else and for zero. */
export function parseLast(text: string): bigint | undefined {
  const found = /^(\d{1,6})([mhd])$/.exec(text);
  const unit = UNIT_MICROS[found?.[2] ?? ''];
  if (!found || unit === undefined) return undefined;
  const span = BigInt(found[1] ?? '0') * unit;
  return span > 0n ? span : undefined;
}

function refused(message: string): WindowDecision {
  return { kind: 'refused', message };
}

/**
 * Creation times are whole seconds, truncated: an object was created some time in the second that begins
 * there.
 */
const CREATION_MICROS = 1_000_000n;

/**
 * The window of an export, resolved once.
 * @param createdAt the creation time of the resource. `last` counts backwards from the end of its second, so that what
 * was there before the resource is inside
 */
export function resolveWindow(wanted: WantedWindow, createdAt: Instant): WindowDecision {
  if (wanted.last !== undefined) {
    const span = parseLast(wanted.last);
    if (span === undefined)
      return refused(`last must be a number of minutes, hours or days such as 24h, but is "${wanted.last}"`);
    const end = createdAt + CREATION_MICROS;
    return { kind: 'window', window: { start: end - span, end } };
  }
  if (wanted.startTime === undefined || wanted.endTime === undefined)
    return refused('give startTime and endTime, or last');
  const start = parseInstant(wanted.startTime, { zone: 'required' });
  if (start === undefined)
    return refused(`startTime must be an ISO 8601 timestamp with a zone, but is "${wanted.startTime}"`);
  const end = parseInstant(wanted.endTime, { zone: 'required' });
  if (end === undefined)
    return refused(`endTime must be an ISO 8601 timestamp with a zone, but is "${wanted.endTime}"`);
  if (end <= start)
    return refused(
      `endTime ${formatInstant(end, 'if-any')} must be after startTime ${formatInstant(start, 'if-any')}`,
    );
  return { kind: 'window', window: { start, end } };
}

const MICROS_PER_HOUR = 3_600_000_000n;

/** Facts from which the windows of a schedule follow; they touch, do not overlap, and have no end. */
export interface SchedulePlan {
  /** Start of the first window. */
  readonly start: Instant;
  /** Length of each window. */
  readonly intervalHours: number;
}

/** Position of a schedule. */
export interface SchedulePosition {
  /** The window whose export is made next; it follows the last one exactly. */
  readonly next: Window;
  /** Windows from `next` on that have ended. */
  readonly due: number;
}

function lengthOf({ intervalHours }: SchedulePlan): bigint {
  return BigInt(intervalHours) * MICROS_PER_HOUR;
}

/**
 * Position of a schedule. The clock does not decide where a window begins: a clock that steps, or was not
 * read for days, changes only how many windows are due.
 * @param until the end of the last window that an export was made for; `plan.start` before the first
 */
export function schedulePosition(plan: SchedulePlan, until: Instant, now: Instant): SchedulePosition {
  const length = lengthOf(plan);
  const next = { start: until, end: until + length };
  return { next, due: now < next.end ? 0 : Number((now - until) / length) };
}

/**
 * The part of the open window that has passed, up to the last full second.
 * @returns undefined before the first window, and in the first second of each
 */
export function openWindow(plan: SchedulePlan, now: Instant): Window | undefined {
  if (now < plan.start) return undefined;
  const length = lengthOf(plan);
  const start = plan.start + ((now - plan.start) / length) * length;
  const end = now - (now % 1_000_000n);
  return end > start ? { start, end } : undefined;
}
