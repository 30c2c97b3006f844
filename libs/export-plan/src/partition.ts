import { dayOf, formatInstant, MICROS_PER_DAY } from '#lib/time';
import type { Window } from './window.js';

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
