import type { Scope, WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visibleTo } from '../visible-to.js';

/** A thread that a caller wants removed. */
export interface ThreadRemoval {
  readonly scope: Scope;
  readonly threadId: string;
}

/**
 * Removes threads of several callers in one statement, each under its own scope.
 * @returns the ids of those removed; the others must be removed one by one
 */
export async function removeThreads(
  scope: WorkerScope,
  sql: Sql,
  removals: readonly ThreadRemoval[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql.asWorker<{ removed: string }>(scope, {
    name: 'remove-threads',
    text: 'SELECT removed FROM agentplane.remove_threads($1, $2)',
    values: [removals.map(({ threadId }) => threadId), removals.map((removal) => visibleTo(removal.scope))],
  });
  return new Set(rows.map(({ removed }) => removed));
}
