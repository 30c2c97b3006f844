import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';

declare module 'fastify' {
  interface FastifyRequest {
    /** Response that answers the request. */
    response: ServerResponse | undefined;
  }
}

const signals = new WeakMap<ServerResponse, AbortSignal>();

/**
 * Signal aborted once the client of a request has gone, or has its answer. Made only for requests that wait.
 */
export function clientLeft({ response }: FastifyRequest): AbortSignal | undefined {
  if (!response) return undefined;
  const known = signals.get(response);
  if (known) return known;
  const left = new AbortController();
  const abort = (): void =>
    left.abort(new PublicError('bad_request', 'The client closed the connection before its turn came'));
  // `close` comes once
  if (response.closed) abort();
  else response.once('close', abort);
  signals.set(response, left.signal);
  return left.signal;
}
