import type { FastifyReply, FastifyRequest } from 'fastify';

const EXPOSED = 'content-location,location,x-pagination-next,x-pagination-total,x-request-id';
const METHODS = 'GET,POST,PUT,PATCH,DELETE,OPTIONS';

/**
 * Says which pages may read an answer. Any, unless origins are named: a key is needed for every answer, and browsers send
 * none by themselves.
 * @param origins `*` in it means any
 * @returns whether the request was a preflight and is to be answered with this alone
 */
export function allowOrigins(
  origins: readonly string[],
  { method, headers }: FastifyRequest,
  { raw }: FastifyReply,
): boolean {
  const isAny = origins.includes('*');
  const isPreflight = method === 'OPTIONS';
  const varies = [...(isAny ? [] : ['origin']), ...(isPreflight ? ['access-control-request-headers'] : [])];
  // set on the raw answer: streams write their own head
  if (varies.length > 0) raw.setHeader('vary', varies.join(', '));
  const { origin } = headers;
  const allowed = isAny ? '*' : origin !== undefined && origins.includes(origin) ? origin : undefined;
  if (allowed !== undefined) {
    raw.setHeader('access-control-allow-origin', allowed);
    raw.setHeader('access-control-expose-headers', EXPOSED);
  }
  if (isPreflight && allowed !== undefined) {
    raw.setHeader('access-control-allow-methods', METHODS);
    raw.setHeader('access-control-allow-headers', headers['access-control-request-headers'] ?? '*');
  }
  return isPreflight;
}
