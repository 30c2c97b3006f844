import type { IncomingMessage, RequestOptions } from 'node:http';
import { pipeline, Transform } from 'node:stream';
import { RequestError } from './object-store-error.js';

/** A page of a thousand keys as long as they may be, and escaped. */
const MAX_TEXT_BYTES = 8 << 20;
/** Of an answer that says what is wrong. */
export const MAX_ERROR_BYTES = 64 << 10;

/**
 * The answer as the client may read it. All but the bytes of an object it collects in memory before it looks at them, and
 * whoever wrote the endpoint may answer without end: one that is longer than a store's ends with an error.
 */
export function boundedAnswer(answer: IncomingMessage, { method, path }: RequestOptions): IncomingMessage {
  const { statusCode = 0, headers } = answer;
  const isGood = statusCode >= 200 && statusCode < 300;
  if (isGood && method === 'GET' && !path?.includes('?')) return answer;
  let left = isGood ? MAX_TEXT_BYTES : MAX_ERROR_BYTES;
  const bounded = new Transform({
    transform(piece: Buffer, _encoding, done) {
      left -= piece.length;
      if (left >= 0) done(null, piece);
      else done(new RequestError('NotAnObjectStore', method ?? 'GET'));
    },
  });
  bounded.on('error', () => undefined); // nobody may read it any more
  pipeline(answer, bounded, () => undefined);
  // what the client looks at beside the bytes
  return Object.assign(bounded, { statusCode, headers }) as Transform & IncomingMessage;
}
