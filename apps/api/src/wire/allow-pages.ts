import type { FastifyInstance } from 'fastify';

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
