import type { Queryable } from '#lib/postgres';
import { parentsOfSql, type RunOfTrace } from '../placement/unplaced-runs.js';
import { metByUpdatesSql } from './waiting-patches.js';

/** What waits for runs that are stored. */
export interface MetRuns {
  readonly withUpdates: readonly RunOfTrace[];
  /** Runs that feedback waits for, whether they are stored or not. */
  readonly withFeedback: readonly string[];
  /** Parents in their place whose children are not. */
  readonly parents: readonly RunOfTrace[];
}

interface Row {
  readonly what: 'updates' | 'feedback' | 'parent';
  readonly id: string;
  readonly trace_id: string;
}

const LOOK_UP = `SELECT 'updates' AS what, u.* FROM (${metByUpdatesSql('$2')}) u
UNION ALL SELECT 'feedback', run_id, NULL FROM feedback
WHERE tenant_id = $1 AND run_id = ANY ($2::uuid[]) AND waits_since IS NOT NULL
UNION ALL SELECT 'parent', p.* FROM (${parentsOfSql('$3', '$4')}) p`;

/**
 * Looks in one statement, after a commit, for what waits.
 * @param runIds of runs that were stored, or that something was written for that waits
 * @param made runs that were stored
 */
export async function lookUpMet(
  db: Queryable,
  tenantId: string,
  runIds: readonly string[],
  made: readonly RunOfTrace[] = [],
): Promise<MetRuns> {
  if (runIds.length === 0) return { withUpdates: [], withFeedback: [], parents: [] };
  const { rows } = await db.query<Row>(LOOK_UP, [
    ...[tenantId, runIds],
    ...[made.map(({ id }) => id), made.map(({ traceId }) => traceId)],
  ]);
  const of = (what: Row['what']): readonly RunOfTrace[] =>
    rows.flatMap((row) => (row.what === what ? [{ id: row.id, traceId: row.trace_id }] : []));
  return {
    withUpdates: of('updates'),
    withFeedback: of('feedback').map(({ id }) => id),
    parents: of('parent'),
  };
}
