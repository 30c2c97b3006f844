import { OUTLINE } from '../row/run-outline.js';
import type { RunStatus } from '../row/run-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** Runs of one page; one that is not full is the last. */
export const THREAD_RUN_PAGE = 100;

/** A run of a thread that has a reader. */
export interface ThreadRun {
  readonly runId: string;
  /** Place among all runs; later ones have higher places. */
  readonly ordinal: number;
  /** Place among all runs that its thread ever had, from 1. */
  readonly place: number;
  readonly graphId: string;
  readonly status: RunStatus;
  readonly attempt: number;
}

/**
 * `protocol`: runs that use the thread stream protocol, active or ended in the last `keptMs`, from a place of
 * the thread on.
 */
export type WhichRuns =
  | { readonly kind: 'all' }
  | { readonly kind: 'active' }
  | { readonly kind: 'protocol'; readonly keptMs: number; readonly fromPlace: number };

interface Row {
  readonly run_id: string;
  readonly ordinal: string;
  readonly place: string | null;
  readonly graph_id: string;
  readonly status: RunStatus;
  readonly attempt: number;
}

const CONDITIONS: Readonly<Record<WhichRuns['kind'], string>> = {
  all: '',
  active: `AND r.status IN ('pending', 'running')`,
  protocol: `AND r.place >= $5 AND ${OUTLINE} ->> 'protocol' = 'v2'
    AND (r.ended_at IS NULL OR r.ended_at > clock_timestamp() - $4 * interval '1 ms')`,
};

/** A page of a thread's runs, from a place on, in the order in which they were made. */
export async function listThreadRuns(
  scope: Scope,
  sql: Sql,
  threadId: string,
  { from, which }: { readonly from: number; readonly which: WhichRuns },
): Promise<ThreadRun[]> {
  const { rows } = await sql.inScope<Row>(scope, {
    text: `SELECT r.run_id, r.ordinal, r.place, r.graph_id, r.status, r.attempt FROM agentplane.runs r
      WHERE r.thread_id = $2 AND r.ordinal >= $3 ${CONDITIONS[which.kind]} AND ${RUN_IS_VISIBLE}
      ORDER BY r.ordinal LIMIT ${THREAD_RUN_PAGE}`,
    values: [threadId, from, ...(which.kind === 'protocol' ? [which.keptMs, which.fromPlace] : [])],
  });
  return rows.map(({ run_id: runId, graph_id: graphId, ordinal, place, ...row }) => ({
    ...row,
    runId,
    graphId,
    ordinal: Number(ordinal),
    place: Number(place ?? 0),
  }));
}
