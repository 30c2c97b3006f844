import type { Instant } from '#lib/time';
import type { Window } from './window.js';

const MICROS_PER_HOUR = 3_600_000_000n;

/** What the windows of a schedule follow from; they touch, do not overlap, and have no end. */
export interface SchedulePlan {
  /** Where the first window begins. */
  readonly start: Instant;
  /** Length of each window. */
  readonly intervalHours: number;
}

/** Where a schedule stands. */
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
 * Where a schedule stands. The clock has no part in where a window begins: one that steps, or that nobody looked at for
 * days, changes only how many windows are due.
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
