import type { Instant } from '#lib/time';
import type { Window } from './window.js';

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
