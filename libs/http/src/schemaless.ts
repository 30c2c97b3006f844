import type { FastifyServerOptions } from 'fastify';

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>;

function refuse(): never {
  throw new Error(
    'routes of this server have no schema: requests are checked by their own classes or parsers',
  );
}

/**
 * Option for a server whose routes declare no Fastify schemas. Fastify would load compilers for them all the
 * same: 130 modules, 90 ms of CPU and 1 to 2 MB.
 */
export const SCHEMALESS: SchemaController = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
};
