/** One line that a container printed. */
export interface LogLine {
  /** RFC 3339 in UTC with nine digits after the second, so that texts compare as times do. */
  readonly time: string;
  readonly pod: string;
  readonly container: string;
  /** Text as it was printed, control characters included; bytes that are no UTF-8 become U+FFFD. */
  readonly text: string;
  /** Bytes at the end of the line that were left out, since it was longer than `MAX_LINE_BYTES`. */
  readonly cutBytes?: number;
}

/** Kept of one line. */
export const MAX_LINE_BYTES = 65_536;

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** The time of a line in the one form that is compared; undefined for a text that is no RFC 3339 time. */
export function lineTime(text: string): string | undefined {
  const [, seconds, fraction = '', zone] = TIME.exec(text) ?? [];
  if (seconds === undefined || zone === undefined) return undefined;
  const digits = fraction.padEnd(9, '0');
  if (zone === 'Z') return `${seconds}.${digits}Z`;
  const utc = new Date(`${seconds}${zone}`);
  return Number.isNaN(utc.getTime()) ? undefined : `${utc.toISOString().slice(0, 19)}.${digits}Z`;
}

/** Order for sorting; lines of one time keep their order. */
export function byTime(a: LogLine, b: LogLine): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : 0;
}

/** Approximate size of a line in memory. */
export function sizeOfLine({ text, pod, container }: LogLine): number {
  return 2 * (text.length + pod.length + container.length) + 128;
}
