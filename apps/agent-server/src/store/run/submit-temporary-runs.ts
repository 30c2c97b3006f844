import type { TemporaryRow } from '../row/temporary-row.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';
import { notifyPending } from './notify-pending.js';

const INSERT = `
INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata,
  kwargs, start_after, attempt, server_id, lease_until, heartbeat_at, started_at, watchers, outline)
SELECT n.run_id, n.thread_id, true, n.assistant_id, n.graph_id, CASE WHEN n.start_here THEN 'running' ELSE 'pending' END,
  'enqueue', n.metadata, n.kwargs::json, clock_timestamp() + n.delay_ms * interval '1 millisecond',
  CASE WHEN n.start_here THEN 1 ELSE 0 END, CASE WHEN n.start_here THEN $2::uuid END,
  CASE WHEN n.start_here THEN clock_timestamp() + $3 * interval '1 millisecond' END,
  CASE WHEN n.start_here THEN clock_timestamp() END, CASE WHEN n.start_here THEN clock_timestamp() END,
  CASE WHEN n.is_watched THEN ARRAY[$2::uuid] ELSE '{}'::uuid[] END, n.outline
FROM json_to_recordset($1::json) AS n(run_id uuid, thread_id uuid, assistant_id uuid, graph_id text, metadata jsonb,
  kwargs text, delay_ms bigint, start_here boolean, is_watched boolean, visible jsonb[], outline jsonb)
WHERE n.visible IS NULL OR n.metadata @> ANY (n.visible)
RETURNING run_id`;

/**
 * Makes runs of several callers in one statement, each under its own scope.
 * @returns the ids of those made; the metadata of the others is outside of their scopes
 */
export async function submitTemporaryRuns(
  scope: WorkerScope,
  sql: Sql,
  { serverId, leaseMs }: ServerIdentity,
  submissions: readonly TemporaryRow[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql.asWorker<{ run_id: string }>(scope, {
    name: 'submit-temporary-runs',
    text: INSERT,
    values: [`[${submissions.map(({ text }) => text).join(',')}]`, serverId, leaseMs],
  });
  if (submissions.some(({ submission }) => !submission.queueing.startsHere))
    void notifyPending(scope, sql).catch(() => undefined); // a hint: looking once a second finds them too
  return new Set(rows.map((row) => row.run_id));
}
