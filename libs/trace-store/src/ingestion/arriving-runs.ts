import type { Queryable } from '#lib/postgres';
import { erasedSql, type ErasedRow, ErasedTraces } from './erased-traces.js';
import { type BytesOfRun, bytesOfRunsSql } from './waiting-patches.js';

interface ArrivingRun {
  readonly id: string;
  readonly traceId: string;
  readonly threadId: string | undefined;
}

/** Facts about runs that are known before they are made. */
interface Arriving {
  readonly erased: ErasedTraces;
  /**
   * Updates that wait for them. Updates that are written meanwhile are found after the commit, like all later
   * ones.
   */
  readonly waiting: readonly BytesOfRun[];
}

type Row = ({ readonly what: 'erased' } & ErasedRow) | WaitingRow;

interface WaitingRow {
  readonly what: 'waiting';
  /** The run. */
  readonly id: string;
  /** Its trace. */
  readonly project_id: string | null;
  /** Bytes. */
  readonly began_by: string;
}

const LOOK_UP = `SELECT 'erased' AS what, e.* FROM (${erasedSql('$2', '$3')}) e
UNION ALL SELECT 'waiting', '', w.run_id::text, w.trace_id::text, w.bytes::text FROM (${bytesOfRunsSql('$4')}) w`;

/** Looks up runs that are to be made, in one statement. The caller holds the tenant's lock, so that no deletion begins meanwhile. */
export async function lookUpArriving(
  db: Queryable,
  tenantId: string,
  runs: readonly ArrivingRun[],
): Promise<Arriving> {
  if (runs.length === 0) return { erased: new ErasedTraces([]), waiting: [] };
  const { rows } = await db.query<Row>(LOOK_UP, [
    tenantId,
    [...new Set(runs.map(({ traceId }) => traceId))],
    [...new Set(runs.flatMap(({ threadId }) => threadId ?? []))],
    [...new Set(runs.map(({ id }) => id))],
  ]);
  return {
    erased: new ErasedTraces(rows.filter((row) => row.what === 'erased')),
    waiting: rows.flatMap((row) =>
      row.what === 'waiting'
        ? [{ runId: row.id, traceId: row.project_id ?? undefined, bytes: Number(row.began_by) }]
        : [],
    ),
  };
}
