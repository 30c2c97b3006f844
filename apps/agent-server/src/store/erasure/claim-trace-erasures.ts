import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

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
