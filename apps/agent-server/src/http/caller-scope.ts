import type { FastifyRequest } from 'fastify';
import type { CallerScope } from '../store/scope.js';
import { EVERY_ROW } from '../store/sql-filter.js';

/**
 * The scope of a request, made here and nowhere else. A key of the workspace reaches everything of its deployment; what
 * an auth handler of the agent answers becomes the filter here.
 */
export function scopeOf(_request: FastifyRequest): CallerScope {
  return { kind: 'caller', filter: EVERY_ROW };
}
