import type { IncomingMessage, RequestOptions } from 'node:http';
import { pipeline, Transform } from 'node:stream';
import { RequestError } from './object-store-error.js';

/** A page of a thousand keys as long as they may be, and escaped. */
const MAX_TEXT_BYTES = 8 << 20;
/** Of an answer that says what is wrong. */
export const MAX_ERROR_BYTES = 64 << 10;

/**
 * The answer as the client may read it. All but the bytes of an object it collects in memory before it looks at them, and
 * whoever wrote the endpoint may answer without end: one that is longer than a store's ends with an error. Of what is
 * wrong the client gets the words that it looks at, since it parses the rest in time that grows with the square of it.
 */
export function boundedAnswer(answer: IncomingMessage, { method, path }: RequestOptions): IncomingMessage {
  const { statusCode = 0, headers } = answer;
  const isGood = statusCode >= 200 && statusCode < 300;
  if (isGood && method === 'GET' && !path?.includes('?')) return answer;
  let left = isGood ? MAX_TEXT_BYTES : MAX_ERROR_BYTES;
  const error: Buffer[] = [];
  const bounded = new Transform({
    transform(piece: Buffer, _encoding, done) {
      left -= piece.length;
      if (left < 0) return done(new RequestError('NotAnObjectStore', method ?? 'GET'));
      if (isGood) return done(null, piece);
      error.push(piece);
      done();
    },
    flush: (done) => (error.length === 0 ? done() : done(null, shortError(Buffer.concat(error).toString()))),
  });
  bounded.on('error', () => undefined); // nobody may read it any more
  pipeline(answer, bounded, () => undefined);
  // what the client looks at beside the bytes
  return Object.assign(bounded, { statusCode, headers }) as Transform & IncomingMessage;
}

/** Code, region and sentence of an error, where it is one of a store. */
function shortError(text: string): string {
  if (!/<Error[\s>]/.test(text)) return '<Error></Error>';
  const found = [/<Code>[^<]{1,64}<\/Code>/, /<Region>[\w-]{1,64}<\/Region>/].map(
    (one) => one.exec(text)?.[0],
  );
  const message = /<Message>([^<]{1,500})/.exec(text)?.[1];
  return `<Error>${found.join('')}${message === undefined ? '' : `<Message>${message}</Message>`}</Error>`;
}
