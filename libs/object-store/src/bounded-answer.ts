import type { IncomingMessage, RequestOptions } from 'node:http';
import { pipeline, Transform } from 'node:stream';
import { RequestError } from './object-store-error.js';
import { storeSentence } from './store-sentence.js';

/** A page of a thousand keys as long as they may be, and escaped. */
const MAX_TEXT_BYTES = 8 << 20;
/** Maximum size of an error answer. */
export const MAX_ERROR_BYTES = 64 << 10;

/**
 * The answer as the client may read it. The client collects all but the bytes of an object in memory before
 * it examines them, and the author of the endpoint may answer without end: an answer that is longer than a
 * store's ends with an error. For an error the client gets only the words that it examines, since it parses
 * the rest in time that grows with the square of it.
 */
export function boundedAnswer(answer: IncomingMessage, options: RequestOptions): IncomingMessage {
  const { method, path } = options;
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
    flush(done) {
      if (error.length === 0 && !NAMELESS.has(statusCode)) return done();
      done(null, shortError(Buffer.concat(error).toString(), statusCode, options));
    },
  });
  bounded.on('error', () => undefined); // the stream may no longer be read
  pipeline(answer, bounded, () => undefined);
  // the headers that the client reads beside the bytes
  return Object.assign(bounded, { statusCode, headers }) as Transform & IncomingMessage;
}

/** Refusals for which the client has no code if the body has none. */
const NAMELESS: ReadonlyMap<number, string> = new Map([
  [401, 'Unauthorized'],
  [403, 'AccessDenied'],
]);

/** Code, region and sentence of an error, if it is one of a store, and the status. */
function shortError(text: string, status: number, options: RequestOptions): string {
  const isError = /<Error[\s>]/.test(text);
  const found = [/<Code>[^<]{1,64}<\/Code>/, /<Region>[\w-]{1,64}<\/Region>/].map((one) =>
    isError ? one.exec(text)?.[0] : undefined,
  );
  const nameless = NAMELESS.get(status);
  if (found[0] === undefined && nameless !== undefined) found[0] = `<Code>${nameless}</Code>`;
  const sentence = isError ? storeSentence(text, options) : undefined;
  if (sentence !== undefined) found.push(`<Message>${escape(sentence)}</Message>`);
  return `<Error>${found.join('')}<Status>${status}</Status></Error>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
