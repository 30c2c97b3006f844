import type { Connection, Pool, Queryable } from '#lib/postgres';
import { deletedProjects } from '../project/project-deletions.js';
import { upgradeTraces } from '../retention/retention-table.js';
import { LONGEST_FEEDBACK_WAIT } from './feedback.js';
import { removeEndedTokens } from './feedback-token-table.js';

/** Removes feedback that waits for runs of deleted traces; that of stored runs is removed with them. */
export async function removeWaitingFeedback(
  client: Connection,
  tenantId: string,
  projectId: string,
  traceIds: readonly string[],
): Promise<void> {
  await client.query(
    `DELETE FROM feedback WHERE tenant_id = $1 AND waits_since IS NOT NULL
      AND (run_id = ANY ($2::uuid[]) OR named_trace_id = ANY ($2::uuid[]))
      AND (named_project_id IS NULL OR named_project_id = $3)`,
    [tenantId, traceIds, projectId],
  );
}

const AT_ONCE = 1_000;

/**
 * Feedback `f` that waits for the run of key `k`; rows of deleted projects do not count as a run that has
 * come.
 */
const MEETS = `k.tenant_id = f.tenant_id AND k.id = f.run_id
  AND (f.named_trace_id IS NULL OR f.named_trace_id = k.trace_id)
  AND (f.named_project_id IS NULL OR f.named_project_id = k.project_id)
  AND k.project_id <> ALL (${deletedProjects('f.tenant_id')})`;

function join(which: string): string {
  // the key is locked: a run that is being removed takes its feedback along, or is found removed
  return `UPDATE feedback f SET project_id = k.project_id, trace_id = k.trace_id, start_time = k.start_time, waits_since = NULL
    FROM (
      SELECT f.id AS feedback_id, k.* FROM feedback f JOIN run_keys k ON ${MEETS}
      WHERE f.waits_since IS NOT NULL AND ${which}
      ORDER BY k.id, k.trace_id LIMIT ${AT_ONCE} FOR KEY SHARE OF k
    ) k
    WHERE f.tenant_id = k.tenant_id AND f.id = k.feedback_id AND f.waits_since IS NOT NULL
    RETURNING f.tenant_id, f.trace_id, f.extends_retention`;
}

const JOIN_RUNS = join('f.tenant_id = $1 AND f.run_id = ANY ($2::uuid[])');
const JOIN_ANY = join('TRUE');

interface Joined {
  readonly tenant_id: string;
  readonly trace_id: string;
  readonly extends_retention: boolean | null;
}

/**
 * Gives feedback that waits for these runs their places, if they have come, and their traces the tier that feedback means.
 * To be called after the commit that stored either.
 */
export async function joinFeedback(pool: Pool, tenantId: string, runIds: readonly string[]): Promise<void> {
  if (runIds.length > 0) await joinAll(pool, JOIN_RUNS, [tenantId, runIds]);
}

/** The same for all tenants: completes the work of processes that ended before they looked. */
async function joinMissedFeedback(pool: Pool): Promise<void> {
  await joinAll(pool, JOIN_ANY, []);
}

async function joinAll(pool: Pool, statement: string, values: readonly unknown[]): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<Joined>(statement, [...values]);
    const extending = rows.filter((row) => row.extends_retention !== false);
    for (const [tenantId, some] of Map.groupBy(extending, (row) => row.tenant_id))
      await upgradeTraces(
        pool,
        tenantId,
        some.map((row) => row.trace_id),
      );
    if (rows.length < AT_ONCE) return;
  }
}

/** Feedback that waited too long. */
interface OverdueFeedback {
  readonly tenantId: string;
  readonly runId: string;
  readonly project: { readonly kind: 'id'; readonly id: string } | undefined;
}

/**
 * Drops feedback whose runs did not come, some at a time.
 * @returns the dropped feedback; none when no more is left
 */
export async function dropOverdueFeedback(db: Queryable): Promise<readonly OverdueFeedback[]> {
  const { rows } = await db.query<{ tenant_id: string; run_id: string; named_project_id: string | null }>(
    // materialized: the limit of a sub-query holds for each time that the planner reads it
    `WITH overdue AS MATERIALIZED (
      SELECT tenant_id, id FROM feedback WHERE waits_since < now() - interval '${LONGEST_FEEDBACK_WAIT}'
      LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED
    )
    DELETE FROM feedback f USING overdue o WHERE f.tenant_id = o.tenant_id AND f.id = o.id
    RETURNING f.tenant_id, f.run_id, f.named_project_id`,
  );
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    runId: row.run_id,
    project: row.named_project_id === null ? undefined : { kind: 'id', id: row.named_project_id },
  }));
}

/** Completes the work of processes that ended early, and removes tokens that have ended. */
export async function tidyFeedback(pool: Pool): Promise<void> {
  await joinMissedFeedback(pool);
  await removeEndedTokens(pool);
}
