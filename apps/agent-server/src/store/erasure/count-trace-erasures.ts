import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Number of deletions of traces that the platform has not answered yet. */
export async function countTraceErasures(scope: WorkerScope, sql: Sql): Promise<number> {
  const { rows } = await sql.asWorker<{ count: number }>(scope, {
    text: 'SELECT count(*)::int AS count FROM agentplane.trace_erasures',
  });
  return rows[0]?.count ?? 0;
}
