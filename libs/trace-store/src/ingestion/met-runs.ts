import type { Queryable } from '#lib/postgres';
import { parentsOfSql, type RunOfTrace } from '../placement/unplaced-runs.js';
import { type MadeRun, orphansSql, strangersOf } from '../placement/trace-tops.js';
import { runKey } from '../run/run-keys.js';
import { metByUpdatesSql } from './waiting-patches.js';

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
