import { wholeNumber } from '#lib/command-line';
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

/** Reads a window that ends now. */
export function parseLast(text: string): string {
  if (!/^[1-9]\d{0,4}[mhd]$/.test(text)) throw new Error('must be minutes, hours or days: 30m, 24h, 7d');
  return text;
}

/** Reads an option that takes one of a few words. */
export function oneOf<const W extends string>(words: readonly W[]): (text: string) => W {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new Error(`Allowed choices are ${words.join(', ')}.`);
    return found;
  };
}

/** A number of things to show, such as `--limit 20`. */
export const parseCount = wholeNumber(1, 99_999);
