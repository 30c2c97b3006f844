import type { Queryable } from '#lib/postgres';
import { type MadeRun, orphansSql, strangersOf } from '../placement/trace-tops.js';
import { parentsOfSql, type RunOfTrace } from '../placement/unplaced-runs.js';
import { type FoundPlace, runKey } from '../run/run-keys.js';
import type { RunPlace } from '../run/stored-run.js';
import { type ErasedRow, erasedSql, ErasedTraces } from './erased-traces.js';
import { type BytesOfRun, bytesOfRunsSql, metByUpdatesSql } from './waiting-patches.js';

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

type ArrivingRow = ({ readonly what: 'erased' } & ErasedRow) | WaitingRow;

interface WaitingRow {
  readonly what: 'waiting';
  /** The run. */
  readonly id: string;
  /** Its trace. */
  readonly project_id: string | null;
  /** Bytes. */
  readonly began_by: string;
}

const LOOK_UP_ARRIVING = `SELECT 'erased' AS what, e.* FROM (${erasedSql('$2', '$3')}) e
UNION ALL SELECT 'waiting', '', w.run_id::text, w.trace_id::text, w.bytes::text FROM (${bytesOfRunsSql('$4')}) w`;

/** Looks up runs that are to be made, in one statement. The caller holds the tenant's lock, so that no deletion begins meanwhile. */
export async function lookUpArriving(
  db: Queryable,
  tenantId: string,
  runs: readonly ArrivingRun[],
): Promise<Arriving> {
  if (runs.length === 0) return { erased: new ErasedTraces([]), waiting: [] };
  const { rows } = await db.query<ArrivingRow>(LOOK_UP_ARRIVING, [
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

/** A batch names runs of deleted projects whose rows are still there: they have to go first. */
export class LeftRunsError extends Error {
  constructor(readonly runs: readonly RunPlace[]) {
    super('runs of a deleted project are in the way');
    this.name = 'LeftRunsError';
  }
}

/** @throws LeftRunsError */
export function refuseLeftRuns(places: readonly (FoundPlace | undefined)[]): void {
  const left = places.filter((place) => place?.isLeft) as FoundPlace[];
  if (left.length > 0) throw new LeftRunsError(left);
}

/** Data that waits for runs that are stored. */
export interface MetRuns {
  readonly withUpdates: readonly RunOfTrace[];
  /** Runs that feedback waits for, whether they are stored or not. */
  readonly withFeedback: readonly string[];
  /** Parents in their place whose children are not. */
  readonly parents: readonly RunOfTrace[];
  /** Runs that were stored and whose parents are not, as `runKey` spells them. */
  readonly orphans: readonly string[];
  /** Traces of the stored runs in which a run represents the root. */
  readonly topless: readonly { readonly projectId: string; readonly traceId: string }[];
}

interface Row {
  readonly what: 'updates' | 'feedback' | 'parent' | 'orphan' | 'top';
  readonly id: string;
  readonly trace_id: string;
}

const LOOK_UP = `SELECT 'updates' AS what, u.* FROM (${metByUpdatesSql('$2')}) u
UNION ALL SELECT 'feedback', run_id, NULL FROM feedback
WHERE tenant_id = $1 AND run_id = ANY ($2::uuid[]) AND waits_since IS NOT NULL
UNION ALL SELECT 'parent', p.* FROM (${parentsOfSql('$3', '$4')}) p
UNION ALL SELECT 'orphan', o.* FROM (${orphansSql('$5::uuid[], $6::uuid[], $7::uuid[], $8::uuid[]')}) o
UNION ALL SELECT 'top', project_id, trace_id FROM trace_tops WHERE tenant_id = $1 AND trace_id = ANY ($4::uuid[])`;

/**
 * Looks in one statement, after a commit, for data that waits.
 * @param runIds of runs that were stored, or that waiting data was written for
 * @param made runs that were stored
 */
export async function lookUpMet(
  db: Queryable,
  tenantId: string,
  runIds: readonly string[],
  made: readonly MadeRun[] = [],
): Promise<MetRuns> {
  if (runIds.length === 0)
    return { withUpdates: [], withFeedback: [], parents: [], orphans: [], topless: [] };
  const { rows } = await db.query<Row>(LOOK_UP, [
    tenantId,
    runIds,
    made.map(({ id }) => id),
    made.map(({ traceId }) => traceId),
    ...strangersOf(made),
  ]);
  const of = (what: Row['what']): readonly RunOfTrace[] =>
    rows.flatMap((row) => (row.what === what ? [{ id: row.id, traceId: row.trace_id }] : []));
  return {
    withUpdates: of('updates'),
    withFeedback: of('feedback').map(({ id }) => id),
    parents: of('parent'),
    orphans: of('orphan').map(runKey),
    topless: of('top').map(({ id, traceId }) => ({ projectId: id, traceId })),
  };
}
