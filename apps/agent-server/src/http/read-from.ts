import type { FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import type { ReadFrom } from '../log/log-cursor.js';
import { parsePosition } from '../log/position.js';
import { parseThreadPosition, type ThreadFrom } from '../run/thread-reading.js';

/** Values that clients send for everything that is kept. */
const EVERYTHING = ['-1', '-', '0'];

function lastEventId({ headers }: FastifyRequest): string {
  const given = headers['last-event-id'];
  return typeof given === 'string' ? given : '';
}

function unknownEvent(given: string, of: string): PublicError {
  return new PublicError(
    'bad_request',
    `Last-Event-ID: "${given.slice(0, 80)}" is not the id of an event of ${of}; send the id of the last event received, or -1 for everything that is kept`,
  );
}

/** Start of a reader of all runs of a thread. @throws PublicError `bad_request` */
export function threadReadFrom(request: FastifyRequest): ThreadFrom {
  const given = lastEventId(request);
  if (given === '') return 'now';
  if (EVERYTHING.includes(given)) return 'kept';
  const position = parseThreadPosition(given);
  if (position) return position;
  throw unknownEvent(given, 'a thread');
}

/** Start of a reader of a run's output. @throws PublicError `bad_request` */
export function readFrom(request: FastifyRequest): ReadFrom {
  const given = lastEventId(request);
  if (given === '') return { kind: 'now' };
  if (EVERYTHING.includes(given)) return { kind: 'kept' };
  const position = parsePosition(given);
  if (position) return { kind: 'after', position };
  throw unknownEvent(given, 'a run');
}
