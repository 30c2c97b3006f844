import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { AddressGuard } from './address-guard.js';
import { guardedRequest } from './guarded-request.js';

export interface GuardedFetchOptions {
  readonly guard: AddressGuard;
  /** Time limit from the first packet to the end of the answer, milliseconds. */
  readonly timeoutMs: number;
  /** Maximum size of an answer; a longer one breaks off with an error. */
  readonly maxBytes: number;
  /** The same for an event of a stream: its reader keeps it until the empty line that ends it. */
  readonly maxEventBytes?: number;
}

/** Statuses whose answers have no body. */
const EMPTY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/**
 * A `fetch` for clients of servers whose addresses are from users: GET, and POST with a text as its body. It
 * dials what the guard has judged, follows no redirect, and reads no more than its limits.
 */
export function guardedFetch(options: GuardedFetchOptions): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', body = null, signal = null } = init;
    if (method !== 'GET' && method !== 'POST')
      throw new TypeError(`${method} is not supported: GET and POST are`);
    if (body !== null && typeof body !== 'string') throw new TypeError('the body must be a text');
    signal?.throwIfAborted();
    const url = new URL(input instanceof Request ? input.url : input);
    return await new Promise<Response>((resolve, reject) => {
      const { guard, timeoutMs } = options;
      const headers = {
        ...Object.fromEntries(new Headers(init.headers)),
        ...(body === null ? {} : { 'content-length': Buffer.byteLength(body) }),
      };
      const request = guardedRequest(url, { method, headers, timeoutMs }, guard, reject);
      const abort = (): void => void request.destroy(signal?.reason);
      signal?.addEventListener('abort', abort, { once: true });
      request.once('close', () => signal?.removeEventListener('abort', abort));
      request.once('response', (answer) => {
        try {
          resolve(responseOf(answer, options));
        } catch (error) {
          answer.destroy();
          reject(error);
        }
      });
      request.end(body ?? undefined);
    });
  };
}

function responseOf(answer: IncomingMessage, limits: AnswerLimits): Response {
  const { statusCode: status = 500, headers } = answer;
  const kept = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) kept.append(name, one);
  if (EMPTY.has(status)) {
    answer.resume();
    return new Response(null, { status, headers: kept });
  }
  const pieces = Readable.from(bounded(answer, limits), { objectMode: false });
  // a generator that was never asked for a piece does not end what it reads
  pieces.once('close', () => answer.destroy());
  return new Response(Readable.toWeb(pieces), { status, headers: kept });
}

type AnswerLimits = Pick<GuardedFetchOptions, 'maxBytes' | 'maxEventBytes'>;

async function* bounded(
  answer: IncomingMessage,
  { maxBytes, maxEventBytes = maxBytes }: AnswerLimits,
): AsyncGenerator<Buffer> {
  let left = maxBytes;
  let ofEvent = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    left -= piece.length;
    if (left < 0) throw new RangeError(`the answer is larger than ${maxBytes} bytes`);
    ofEvent = piece.includes('\n\n') || piece.includes('\r\n\r\n') ? 0 : ofEvent + piece.length;
    if (ofEvent > maxEventBytes)
      throw new RangeError(`an event of the answer is larger than ${maxEventBytes} bytes`);
    yield piece;
  }
}
