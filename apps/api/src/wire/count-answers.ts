import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify';
import type { Admission } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { answerOf } from './error-answer.js';
import { type AccessRoute, UNDECLARED } from './route-access.js';

const METHOD_NOT_ALLOWED_METHODS: readonly HTTPMethods[] = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
];

/**
 * Notes the routes of a server from now on. Calling the result, once all are there, has every other method on their
 * paths answered with 405 and those that there are.
 */
export function watchMethods(server: FastifyInstance): () => void {
  const methodsOf = new Map<string, Set<string>>();
  server.addHook('onRoute', ({ method, url }) => {
    const known = methodsOf.get(url) ?? new Set();
    for (const one of [method].flat()) known.add(one);
    methodsOf.set(url, known);
  });
  const refusal: FastifyContextConfig & AccessRoute = { routeAccess: UNDECLARED };
  return () => {
    for (const [url, known] of [...methodsOf]) {
      const others = METHOD_NOT_ALLOWED_METHODS.filter((method) => !known.has(method));
      const allow = [...known].sort().join(', ');
      server.route({
        method: others,
        url,
        config: refusal,
        handler: (_request, reply) =>
          reply.code(405).header('allow', allow).send({ detail: 'Method Not Allowed' }),
      });
    }
  };
}

/** Headers that the clients in pages read. */
const EXPOSED = 'retry-after, x-request-id';
const METHODS = 'GET, POST, PUT, PATCH, DELETE';
/** Pages ask again after ten minutes. */
const MAX_AGE_SECONDS = 600;

/**
 * Lets pages of these origins read answers (CORS). Their preflights carry no key and are answered before one is asked for;
 * those of other origins are requests like any other.
 * @param origins `*`: every page. Empty: none, and nothing is added to answers
 */
export function allowPages(server: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const isAny = origins.includes('*');
  const allowed = new Set(origins.map((origin) => origin.toLowerCase()));
  server.addHook('onRequest', async ({ method, headers }, reply) => {
    const { origin } = headers;
    if (!isAny) reply.raw.setHeader('vary', 'origin');
    if (origin === undefined || !(isAny || allowed.has(origin.toLowerCase()))) return;
    // on the raw answer: refusals are answered by their own code
    reply.raw.setHeader('access-control-allow-origin', isAny ? '*' : origin);
    reply.raw.setHeader('access-control-expose-headers', EXPOSED);
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return;
    reply.raw.setHeader('access-control-allow-methods', METHODS);
    reply.raw.setHeader('access-control-max-age', MAX_AGE_SECONDS);
    const asked = headers['access-control-request-headers'];
    if (asked !== undefined) reply.raw.setHeader('access-control-allow-headers', asked);
    return reply.code(204).send();
  });
}

/** Set in the configuration of routes whose answers need no counting here. */
interface AnswerRoute {
  /** The route counts its answer by itself, or all its answers share the same bytes. */
  readonly countsAnswer?: boolean;
}

/** Smaller answers fit into the kernel's buffers of any connection. */
const MIN_COUNTED_BYTES = 16_384;

const READS = new Set(['GET', 'HEAD']);

export interface AnswerCount {
  readonly budget: Admission;
  /** Owner of the answer. */
  readonly ownerOf: (request: FastifyRequest) => string | undefined;
}

/**
 * Counts the memory of answers from when they are made until their callers have read them. Beyond the limit a
 * read is answered 429; the result of a change is always reported.
 */
export function countAnswers(server: FastifyInstance, { budget, ownerOf }: AnswerCount): void {
  server.addHook('onSend', async (request, reply, payload) => {
    const bytes = sizeOf(payload);
    const { countsAnswer = false } = request.routeOptions.config as AnswerRoute;
    if (bytes < MIN_COUNTED_BYTES || countsAnswer || reply.raw.destroyed) return payload;
    const account = budget.open(ownerOf(request));
    try {
      account.hold(bytes);
    } catch (error) {
      if (!READS.has(request.method) || !(error instanceof PublicError)) return payload;
      return refuse(reply, error);
    }
    reply.raw.once('close', () => account.keep(0));
    return payload;
  });
}

function sizeOf(payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  return Buffer.isBuffer(payload) ? payload.length : 0;
}

/** Past the filter of errors: the answer is under way already. */
function refuse(reply: FastifyReply, error: PublicError): string {
  const { status, body, retryAfter } = answerOf(error);
  void reply.code(status).type('application/json; charset=utf-8').removeHeader('content-length');
  if (retryAfter !== undefined) void reply.header('retry-after', retryAfter);
  return JSON.stringify(body);
}
