import type { RunStatus } from '../row/run-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** Runs of one page. */
export const PROTOCOL_RUN_PAGE = 100;

/** A run whose output belongs to the stream of its thread. */
export interface ProtocolRun {
  readonly runId: string;
  /** Its place among all runs; later ones have higher places. */
  readonly ordinal: number;
  readonly graphId: string;
  readonly status: RunStatus;
  readonly attempt: number;
}

interface Row {
  readonly run_id: string;
  readonly ordinal: string;
  readonly graph_id: string;
  readonly status: RunStatus;
  readonly attempt: number;
}

/** A page of a thread's runs that speak the thread stream protocol, from a place on: active ones, and those that ended lately. */
export async function listProtocolRuns(
  scope: Scope,
  sql: Sql,
  threadId: string,
  from: { readonly ordinal: number; readonly keptMs: number },
): Promise<ProtocolRun[]> {
  const { rows } = await sql.inScope<Row>(scope, {
    text: `SELECT r.run_id, r.ordinal, r.graph_id, r.status, r.attempt FROM agentplane.runs r
      WHERE r.thread_id = $2 AND r.ordinal >= $3 AND r.kwargs->>'protocol' = 'v2'
        AND (r.ended_at IS NULL OR r.ended_at > clock_timestamp() - $4 * interval '1 ms') AND ${RUN_IS_VISIBLE}
      ORDER BY r.ordinal LIMIT ${PROTOCOL_RUN_PAGE}`,
    values: [threadId, from.ordinal, from.keptMs],
  });
  return rows.map(({ run_id: runId, graph_id: graphId, ordinal, ...row }) => ({
    ...row,
    runId,
    graphId,
    ordinal: Number(ordinal),
  }));
}
