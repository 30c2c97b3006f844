import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

const SWEEP_EVENTS = `DELETE FROM agentplane.run_events
  WHERE created_at < clock_timestamp() - $1 * interval '1 millisecond'`;
const SWEEP_RUNS = `DELETE FROM agentplane.runs r WHERE r.temporary AND r.ended_at IS NOT NULL
  AND r.ended_at < clock_timestamp()
    - CASE WHEN (r.kwargs ->> 'resumable')::boolean THEN $1::float8 ELSE $2::float8 END * interval '1 millisecond'`;

/** Removes relayed events and ended runs without a thread once their readers had time to come back. */
export async function sweepRunEvents(
  scope: WorkerScope,
  sql: Sql,
  { keptMs, resumableMs }: { readonly keptMs: number; readonly resumableMs: number },
): Promise<void> {
  await sql.asWorker(scope, { text: SWEEP_EVENTS, values: [Math.max(keptMs, resumableMs)] });
  await sql.asWorker(scope, { text: SWEEP_RUNS, values: [resumableMs, keptMs] });
}
