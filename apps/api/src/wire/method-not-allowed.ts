import type { FastifyInstance, HTTPMethods } from 'fastify';

const METHODS: readonly HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

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
  return () => {
    for (const [url, known] of [...methodsOf]) {
      const others = METHODS.filter((method) => !known.has(method));
      const allow = [...known].sort().join(', ');
      server.route({
        method: others,
        url,
        handler: (_request, reply) =>
          reply.code(405).header('allow', allow).send({ detail: 'Method Not Allowed' }),
      });
    }
  };
}
