import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import type { TraceErasure } from './claim-trace-erasures.js';

/** Match by request time: a newer request for the same trace stays queued. */
const THESE = `FROM unnest($1::text[], $2::uuid[], $3::timestamptz[]) AS d(kind, id, requested_at)
  WHERE e.kind = d.kind AND e.id = d.id AND e.requested_at = d.requested_at`;

function values(erasures: readonly TraceErasure[]): unknown[] {
  return [
    erasures.map(({ kind }) => kind),
    erasures.map(({ id }) => id),
    erasures.map(({ requestedAt }) => requestedAt),
  ];
}

/** The platform has deleted them. */
export async function endTraceErasures(
  scope: WorkerScope,
  sql: Sql,
  erasures: readonly TraceErasure[],
): Promise<void> {
  const text = `DELETE FROM agentplane.trace_erasures e USING ${THESE.slice('FROM '.length)}`;
  await sql.asWorker(scope, { text, values: values(erasures) });
}

/** The platform has not: they are tried again after a pause. */
export async function delayTraceErasures(
  scope: WorkerScope,
  sql: Sql,
  erasures: readonly TraceErasure[],
  { error, pauseMs }: { readonly error: string; readonly pauseMs: number },
): Promise<void> {
  await sql.asWorker(scope, {
    text: `UPDATE agentplane.trace_erasures e SET last_error = $4,
      next_attempt_at = clock_timestamp() + $5 * interval '1 millisecond' ${THESE}`,
    values: [...values(erasures), error, pauseMs],
  });
}
