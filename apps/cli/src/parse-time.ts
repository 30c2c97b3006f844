import { formatInstant, parseInstant } from '#lib/time';

/**
 * A time of an option such as `--from`, as REST reads it: to the microsecond, and UTC where it names no zone.
 * @returns it as objects of Kubernetes have it, so `2026-05-01` is `2026-05-01T00:00:00Z`
 */
export function parseTime(text: string): string {
  const instant = parseInstant(text, { zone: 'optional' });
  if (instant === undefined) throw new Error('must look like 2026-05-01T00:00:00Z');
  return formatInstant(instant, 'if-any');
}
