import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Admission } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { bodyTooLarge, readBody } from '#lib/http';
import {
  findInvalidUtf8,
  findJsonTrouble,
  JsonSyntaxError,
  parseJson,
  renderTrouble,
  validateJson,
} from '#lib/json';

/** Bodies of all routes but those of traces. */
const MAX_PLAIN_BYTES = 1_048_576;
/** Forms of pages: a message of 10,000 letters, each of which may take nine bytes. */
const MAX_FORM_BYTES = 131_072;
const ARCHIVES = ['application/gzip', 'application/x-gzip', 'application/octet-stream'];
const MAX_PLAIN_DEPTH = 64;
/** Members and items of the largest request that its class lets through are fewer; each takes up to seventy bytes. */
const MAX_PLAIN_VALUES = 50_000;

/** Set by `@RouteConfig` on routes that take the body as it came. */
export interface BodyRoute {
  /** The body is handed on as the stream it is. */
  readonly rawBody?: boolean;
  /** Maximum size of a raw body of this route, in bytes; the one of traces when absent. */
  readonly maxRawBytes?: number;
  /** The body is handed on as the bytes that came, once all have: their signature is checked. */
  readonly signedBody?: boolean;
  /** True for OTLP, which has encodings and refusals of its own. */
  readonly isOtlp?: boolean;
  /** JSON is also taken as text/plain: the JavaScript client sends it so to some routes. */
  readonly takesText?: boolean;
  /** It is a form of one of the pages. */
  readonly takesForm?: boolean;
}

/** Compression of the body. @throws an error of status 415 for any other encoding */
export function encodingOf({ headers }: Pick<FastifyRequest, 'headers'>): 'gzip' | 'zstd' | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return undefined;
  if (encoding === 'gzip' || encoding === 'zstd') return encoding;
  throw unsupported('the encoding of the body is neither gzip nor zstd');
}

function isRaw(request: FastifyRequest): boolean {
  return (request.routeOptions.config as BodyRoute).rawBody === true;
}

function isSigned(request: FastifyRequest): boolean {
  return (request.routeOptions.config as BodyRoute).signedBody === true;
}

/**
 * JSON that cannot grow past limits, reach into prototypes, or read as one thing where it is checked and as another where
 * it is stored.
 * @throws JsonSyntaxError, PublicError `invalid`
 */
export function parseBody(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  const invalidAt = findInvalidUtf8(body);
  if (invalidAt !== undefined) throw new JsonSyntaxError('the text is not UTF-8', invalidAt);
  validateJson(body, MAX_PLAIN_DEPTH);
  const text = body.toString('utf8');
  const trouble = findJsonTrouble(text, { maxValues: MAX_PLAIN_VALUES });
  if (trouble)
    throw new PublicError('invalid', 'the body is not valid', [
      { loc: ['body', ...trouble.path], msg: renderTrouble(trouble), type: `json_${trouble.kind}` },
    ]);
  return parseJson(text);
}

/** Fields of a form; one that is repeated is a list. */
function parseForm(body: Buffer): Readonly<Record<string, string | readonly string[]>> {
  const fields = new URLSearchParams(body.toString());
  const names = [...new Set(fields.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = fields.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

/** An error of status 415. */
export function unsupported(message: string): Error {
  return Object.assign(new Error(message), { statusCode: 415 });
}

export interface BodyLimits {
  /** Maximum size of a body that is handed on as a stream. */
  readonly maxRawBytes: number;
  /** Budget of all other bodies. */
  readonly budget: Admission;
  /** Owner of the body. */
  readonly ownerOf: (request: FastifyRequest) => string | undefined;
}

/** Replaces the server's parsers: JSON, and multipart as a stream. Anything else is 415. */
export function registerBodyParsers(server: FastifyInstance, limits: BodyLimits): void {
  const { maxRawBytes, budget, ownerOf } = limits;
  server.removeAllContentTypeParsers();
  const take = async <T>(
    request: FastifyRequest,
    [stream, maxBytes]: readonly [Readable, number],
    parse: (body: Buffer) => T,
  ): Promise<T> => {
    // a body that comes slowly is held for two minutes; once it is whole, it is soon answered
    const account = budget.open(ownerOf(request));
    try {
      return parse(await readBody(stream, maxBytes, account.hold));
    } finally {
      account.keep(0);
    }
  };
  const takeJson = async (request: FastifyRequest, stream: Readable): Promise<unknown> =>
    isRaw(request)
      ? stream
      : take(request, [stream, MAX_PLAIN_BYTES], (body) => (isSigned(request) ? body : parseBody(body)));
  server.addContentTypeParser('application/json', takeJson);
  server.addContentTypeParser('text/plain', async (request: FastifyRequest, stream: Readable) => {
    if ((request.routeOptions.config as BodyRoute).takesText) return takeJson(request, stream);
    throw unsupported('bodies of text are not supported here');
  });
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    async (request: FastifyRequest, stream: Readable) => {
      if (isSigned(request)) return takeJson(request, stream);
      if (!(request.routeOptions.config as BodyRoute).takesForm)
        throw unsupported('forms are not supported here');
      return take(request, [stream, MAX_FORM_BYTES], parseForm);
    },
  );
  // Elsewhere a stream must never pass for a body: its members lead to the socket.
  server.addContentTypeParser('multipart/form-data', (request, stream, done) => {
    if (isRaw(request)) done(null, stream);
    else done(unsupported('multipart bodies are not supported here'));
  });
  server.addContentTypeParser(ARCHIVES, (request, stream, done) => {
    if (isRaw(request)) done(null, stream);
    else done(unsupported('archives are not supported here'));
  });
  server.addContentTypeParser('application/x-protobuf', (request, stream, done) => {
    if ((request.routeOptions.config as BodyRoute).isOtlp) done(null, stream);
    else done(unsupported('protobuf bodies are not supported here'));
  });
  // Routes that take bodies as they came inflate them under their own limits; nothing else is worth compressing.
  server.addHook('onRequest', async (request) => {
    if (encodingOf(request) !== undefined && !isRaw(request))
      throw unsupported('compressed bodies are not supported here');
    const length = Number(request.headers['content-length'] ?? 0);
    const { maxRawBytes: ofRoute = maxRawBytes } = request.routeOptions.config as BodyRoute;
    const most = isRaw(request) ? ofRoute : MAX_PLAIN_BYTES;
    if (length > most) throw bodyTooLarge(most);
  });
}
