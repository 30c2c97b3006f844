/** A status by its first digit, as labels have it. */
export type StatusClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx';

const CLASSES: readonly StatusClass[] = ['1xx', '2xx', '3xx', '4xx', '5xx'];

/** Anything that is no status counts as a failure of the server. */
export function statusClass(status: number): StatusClass {
  return CLASSES[Math.floor(status / 100) - 1] ?? '5xx';
}
