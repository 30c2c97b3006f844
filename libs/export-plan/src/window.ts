import { formatInstant, type Instant, parseInstant } from '#lib/time';

/** Time range of an export: start inclusive, end exclusive. */
export interface Window {
  readonly start: Instant;
  readonly end: Instant;
}

/** Window as a person states it; exactly one of the ways. */
export interface WantedWindow {
  readonly startTime?: string;
  readonly endTime?: string;
  /** `24h`, `7d`, `90m`: this long before the creation of the export. */
  readonly last?: string;
}

/** A window, or a sentence with the reason for refusing it. */
export type WindowDecision =
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
