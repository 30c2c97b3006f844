import type { Queryable } from '#lib/postgres';

/** Anything that performs a statement; that of TypeORM is another than that of the pool, and answers the rows alone. */
interface Statements {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/** Time for which the id of a deleted project is answered as such. */
const KEPT = '30 days';
/** A process that died keeps others from its deletion for so long. */
const CLAIM = '1 minute';
/** Pause after a failure. */
const PAUSE = '5 minutes';
/** Tenants of one round. */
const TENANTS_AT_ONCE = 1_000;

/**
 * Projects of a tenant whose rows are still to go, as an array that a statement reads once.
 * @param tenant expression of the tenant
 */
export function deletedProjects(tenant: string): string {
  return `ARRAY(SELECT project_id FROM project_deletions WHERE tenant_id = ${tenant} AND completed_at IS NULL)`;
}

/** Deletes the project's row and notes that its runs are to go. @returns false when it does not exist */
export async function recordDeletion(db: Queryable, tenantId: string, projectId: string): Promise<boolean> {
  // the row first: batches that place runs in it hold it until they have ended, later ones do not find it
  const { rowCount } = await db.query(
    `WITH gone AS (DELETE FROM projects WHERE tenant_id = $1 AND id = $2 RETURNING tenant_id, id, name)
    INSERT INTO project_deletions AS d (tenant_id, project_id, name) SELECT tenant_id, id, name FROM gone
    ON CONFLICT (tenant_id, project_id) DO UPDATE
      SET name = EXCLUDED.name, deleted_at = EXCLUDED.deleted_at, completed_at = NULL, claimed_until = '-infinity'
    RETURNING project_id`,
    [tenantId, projectId],
  );
  return rowCount === 1;
}

/** True when rows of a deleted project have this id. */
export async function isBeingDeleted(db: Statements, tenantId: string, projectId: string): Promise<boolean> {
  const rows = await db.query(
    'SELECT FROM project_deletions WHERE tenant_id = $1 AND project_id = $2 AND completed_at IS NULL',
    [tenantId, projectId],
  );
  return Array.isArray(rows) && rows.length > 0;
}

/** A project has got the id of one that was deleted: it is answered as this one from now on. */
export async function forgetDeletion(db: Statements, tenantId: string, projectId: string): Promise<void> {
  await db.query(
    'DELETE FROM project_deletions WHERE tenant_id = $1 AND project_id = $2 AND completed_at IS NOT NULL',
    [tenantId, projectId],
  );
}

/** Time at which the project was deleted; undefined when that is too long ago, or never happened. */
export async function findDeletion(
  db: Queryable,
  tenantId: string,
  projectId: string,
): Promise<Date | undefined> {
  const { rows } = await db.query<{ deleted_at: Date }>(
    'SELECT deleted_at FROM project_deletions WHERE tenant_id = $1 AND project_id = $2',
    [tenantId, projectId],
  );
  return rows[0]?.deleted_at;
}

/** Tenants that have a deleted project with remaining rows that no process is removing. */
export async function tenantsWithDeletions(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ tenant_id: string }>(
    `SELECT DISTINCT tenant_id FROM project_deletions
    WHERE completed_at IS NULL AND claimed_until < clock_timestamp() LIMIT ${TENANTS_AT_ONCE}`,
  );
  return rows.map((row) => row.tenant_id);
}

/** Takes the oldest one of the tenant that no other process has. @returns the project's id */
export async function claimDeletion(db: Queryable, tenantId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ project_id: string }>(
    // materialized: a sub-query that the planner reads once for each row claims them all
    `WITH next AS MATERIALIZED (
      SELECT project_id FROM project_deletions
      WHERE tenant_id = $1 AND completed_at IS NULL AND claimed_until < clock_timestamp()
      ORDER BY deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE project_deletions d SET claimed_until = clock_timestamp() + interval '${CLAIM}'
    FROM next n WHERE d.tenant_id = $1 AND d.project_id = n.project_id RETURNING d.project_id`,
    [tenantId],
  );
  return rows[0]?.project_id;
}

/**
 * Outcome of a claim: its deletion is complete, continues in the next turn, or failed and is tried again
 * later.
 */
export type ClaimEnd = 'completed' | 'goes on' | 'failed';

export async function endClaim(
  db: Queryable,
  tenantId: string,
  projectId: string,
  end: ClaimEnd,
): Promise<void> {
  await db.query(
    `UPDATE project_deletions SET completed_at = CASE WHEN $3 = 'completed' THEN clock_timestamp() END,
      claimed_until = CASE WHEN $3 = 'failed' THEN clock_timestamp() + interval '${PAUSE}' ELSE '-infinity' END
    WHERE tenant_id = $1 AND project_id = $2 AND completed_at IS NULL`,
    [tenantId, projectId, end],
  );
}

/** Forgets deletions that ended long ago: their ids are unknown from then on. */
export async function forgetOldDeletions(db: Queryable): Promise<void> {
  await db.query(`DELETE FROM project_deletions WHERE completed_at < clock_timestamp() - interval '${KEPT}'`);
}
