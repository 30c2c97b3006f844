import type { Scope } from './scope.js';

/**
 * Filter of a scope, for a statement that serves several: JSON text of a list of documents, of which metadata
 * must contain at least one. Null lets every row through.
 */
export function visibleTo(scope: Scope): string | null {
  return scope.kind === 'worker' ? null : `[${scope.filter.alternatives.join(',')}]`;
}

/**
 * The condition that metadata is let through by the scope, `$1` of the statement. The first half is folded away when a
 * statement is planned: without it the planner takes a filter that lets everything through for a selective one.
 */
export function visible(metadata: string): string {
  return `($1::jsonb[] = '{"{}"}' OR ${metadata} @> ANY ($1::jsonb[]))`;
}

/** The same for a run `r`: it belongs to its thread; one without a thread has only its own metadata. */
export const RUN_IS_VISIBLE = `CASE WHEN r.temporary THEN ${visible('r.metadata')} ELSE EXISTS (
  SELECT 1 FROM agentplane.threads t WHERE t.thread_id = r.thread_id AND ${visible('t.metadata')}) END`;
