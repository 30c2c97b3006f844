import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { JsonSyntaxError, validateJson } from '#lib/trace-store';
import { readBody } from './read-body.js';

/** Bodies of all routes but those of traces. */
const MAX_PLAIN_BYTES = 1_048_576;
const MAX_PLAIN_DEPTH = 64;

/** Set by `@RouteConfig` on routes that take the body as it came. */
export interface BodyRoute {
  /** The body is handed on as the stream it is. */
  readonly rawBody?: boolean;
}

function isRaw(request: FastifyRequest): boolean {
  return (request.routeOptions.config as BodyRoute).rawBody === true;
}

/** JSON that cannot grow past limits or reach into prototypes. @throws JsonSyntaxError */
export function parseBody(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  validateJson(body, MAX_PLAIN_DEPTH);
  return JSON.parse(body.toString('utf8'), (key, value: unknown) => {
    if (key === '__proto__') throw new JsonSyntaxError('__proto__ cannot be the name of a member', 0);
    return value;
  });
}

/** Replaces the server's parsers: JSON, and multipart as a stream. Anything else is 415. */
export function registerBodyParsers(server: FastifyInstance, maxRawBytes: number): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', async (request: FastifyRequest, stream: Readable) =>
    isRaw(request) ? stream : parseBody(await readBody(stream, MAX_PLAIN_BYTES)),
  );
  server.addContentTypeParser('multipart/form-data', (_request, stream, done) => done(null, stream));
  // Compressed bodies are for later: a limit that holds while inflating is a piece of work of its own. `/info` says so.
  server.addHook('onRequest', async (request) => {
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      throw Object.assign(new Error('compressed bodies are not supported'), { statusCode: 415 });
    const length = Number(request.headers['content-length'] ?? 0);
    if (length > (isRaw(request) ? maxRawBytes : MAX_PLAIN_BYTES))
      throw new PublicError('too_large', 'The request body is too large');
  });
}
