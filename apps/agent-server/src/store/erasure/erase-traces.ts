import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE, visible } from '../visible.js';

/** A repeated request restarts the erasure: its thread may have been made again in the meantime. */
const AGAIN = `ON CONFLICT (kind, id) DO UPDATE
  SET requested_at = EXCLUDED.requested_at, attempts = 0, next_attempt_at = clock_timestamp()`;

/**
 * Orders the deletion of all traces of a thread, those of its runs by their names: to be called when the
 * thread is removed, in the same transaction and before.
 */
export async function eraseThreadTraces(scope: Scope, sql: Sql, threadId: string): Promise<void> {
  await sql.inScope(scope, {
    text: `INSERT INTO agentplane.trace_erasures (kind, id, requested_at)
      SELECT o.kind, o.id, statement_timestamp() FROM agentplane.threads t CROSS JOIN LATERAL (
        SELECT 'thread' AS kind, t.thread_id AS id
        UNION ALL SELECT 'trace', r.run_id FROM agentplane.runs r WHERE r.thread_id = t.thread_id) o
      WHERE t.thread_id = $2 AND ${visible('t.metadata')} ORDER BY o.kind, o.id ${AGAIN}`,
    values: [threadId],
  });
}

/**
 * Orders the deletion of the trace of a run: to be called when the run is removed, in the same transaction
 * and before.
 */
export async function eraseRunTrace(scope: Scope, sql: Sql, runId: string): Promise<void> {
  await sql.inScope(scope, {
    text: `INSERT INTO agentplane.trace_erasures (kind, id)
      SELECT 'trace', r.run_id FROM agentplane.runs r WHERE r.run_id = $2 AND ${RUN_IS_VISIBLE} ${AGAIN}`,
    values: [runId],
  });
}
