export const MS_PER_DAY = 86_400_000;

/** The UTC midnight at or before `time`. */
export function startOfUtcDay(time: Date): Date {
  return new Date(Math.floor(time.getTime() / MS_PER_DAY) * MS_PER_DAY);
}

/** `YYYY-MM-DD` in UTC. */
export function utcDayName(time: Date): string {
  return time.toISOString().slice(0, 10);
}
