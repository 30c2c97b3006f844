import { type Scope, type WorkerScope, RUN_IS_VISIBLE, visible } from '../scope.js';
import type { Sql } from '../sql.js';

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

/** Traces to be deleted, of one run or of one thread. */
export interface TraceErasure {
  readonly kind: 'trace' | 'thread';
  readonly id: string;
  /** Time to the microsecond, as the database spells it. */
  readonly requestedAt: string;
  /** Counts from 1. */
  readonly attempt: number;
}

interface Row {
  readonly kind: TraceErasure['kind'];
  readonly id: string;
  readonly requested_at: string;
  readonly attempts: number;
}

const CLAIM = `
WITH due AS (
  SELECT e.kind, e.id FROM agentplane.trace_erasures e WHERE e.next_attempt_at <= clock_timestamp()
  ORDER BY e.next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE agentplane.trace_erasures e SET attempts = e.attempts + 1,
  next_attempt_at = clock_timestamp() + $2 * interval '1 millisecond'
FROM due WHERE e.kind = due.kind AND e.id = due.id
RETURNING e.kind, e.id, e.attempts,
  to_char(e.requested_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS requested_at`;

/** Takes erasures that are due; another server takes them again after `leaseMs` without a result. */
export async function claimTraceErasures(
  scope: WorkerScope,
  sql: Sql,
  limit: number,
  leaseMs: number,
): Promise<TraceErasure[]> {
  const { rows } = await sql.asWorker<Row>(scope, { text: CLAIM, values: [limit, leaseMs] });
  return rows.map(({ kind, id, attempts, requested_at }) => ({
    kind,
    id,
    attempt: attempts,
    requestedAt: requested_at,
  }));
}

/** Number of deletions of traces that the platform has not answered yet. */
export async function countTraceErasures(scope: WorkerScope, sql: Sql): Promise<number> {
  const { rows } = await sql.asWorker<{ count: number }>(scope, {
    text: 'SELECT count(*)::int AS count FROM agentplane.trace_erasures',
  });
  return rows[0]?.count ?? 0;
}

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
