import type { Scope } from './scope.js';

/**
 * Filter of a scope, for a statement that serves several: JSON text of a list of documents, of which metadata
 * must contain at least one. Null lets every row through.
 */
export function visibleTo(scope: Scope): string | null {
  return scope.kind === 'worker' ? null : `[${scope.filter.alternatives.join(',')}]`;
}
