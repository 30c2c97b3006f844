import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

/** Runs of one look; their list is held in memory. */
const PORTION = 200;

export interface ActiveRunSearch {
  readonly status: 'pending' | 'running';
  /** Undefined: of every thread. */
  readonly threadId: string | undefined;
  /** The last run of the portion before; undefined for the first one. */
  readonly after?: ActiveRun | undefined;
}

/** An active run with the position at which a listing continues. */
export interface ActiveRun {
  readonly runId: string;
  readonly threadId: string;
  /** Place of the run among all runs. */
  readonly ordinal: string;
  /** The last place at the first look: runs that come later are not meant. */
  readonly last: string;
}

/**
 * Runs that are pending or running, in the order in which they came; a portion of them, empty after the last
 * one.
 */
export async function listActiveRuns(
  scope: Scope,
  sql: Sql,
  { status, threadId, after }: ActiveRunSearch,
): Promise<readonly ActiveRun[]> {
  const { rows } = await sql.inScope<Record<'run_id' | 'thread_id' | 'ordinal' | 'last', string>>(scope, {
    scans: 'Searching runs',
    text: `SELECT r.run_id, r.thread_id, r.ordinal::text, l.ordinal::text AS last FROM agentplane.runs r,
        (SELECT coalesce($5::bigint, max(ordinal)) AS ordinal FROM agentplane.runs WHERE status = $2) l
      WHERE r.status = $2 AND ($3::uuid IS NULL OR r.thread_id = $3) AND ${RUN_IS_VISIBLE}
        AND r.ordinal > coalesce($4::bigint, 0) AND r.ordinal <= l.ordinal
      ORDER BY r.ordinal LIMIT ${PORTION}`,
    values: [status, threadId ?? null, after?.ordinal ?? null, after?.last ?? null],
  });
  return rows.map(({ run_id: runId, thread_id: of, ordinal, last }) => ({
    runId,
    threadId: of,
    ordinal,
    last,
  }));
}
