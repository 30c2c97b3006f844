import { randomUUID } from 'node:crypto';

/** Header that carries the id of a request both ways. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** Bounded, and of characters that are safe in a header, in a log line and in a shell. */
const WELL_FORMED = /^[A-Za-z0-9][A-Za-z0-9._:+/=-]{0,127}$/;

/** The caller's own id when it is well-formed, else a new one. */
export function requestId(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && WELL_FORMED.test(header) ? header : randomUUID();
}
