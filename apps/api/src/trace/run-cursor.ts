import { PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import { formatInstant, parseInstant } from '#lib/time';
import type { RunCursor } from '#lib/trace-store';

/** Start of the next page, in the form that clients hand back. */
export function renderCursor({ startTime, id, traceId }: RunCursor): string {
  return Buffer.from([formatInstant(startTime), id, traceId].join(' ')).toString('base64url');
}

/** @throws PublicError bad_request */
export function parseCursor(text: string): RunCursor {
  const [time = '', id = '', traceId = '', ...more] = Buffer.from(text, 'base64url').toString().split(' ');
  const startTime = parseInstant(time, { zone: 'required' });
  if (startTime === undefined || !isUuid(id) || !isUuid(traceId) || more.length > 0)
    throw new PublicError('bad_request', 'cursor is none that a page of this list has answered');
  return { startTime, id, traceId };
}
