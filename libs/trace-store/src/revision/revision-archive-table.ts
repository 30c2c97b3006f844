import { inTransaction, type Pool } from '#lib/postgres';

/** A revision past the limit of its deployment's history, as the API server held it. */
export interface ArchivedRevision {
  /** Id in the API. */
  readonly id: string;
  readonly number: number;
  /** Name in the API. */
  readonly status: string;
  /** JSON of the resource. */
  readonly object: string;
}

/** Owner of the revisions. */
export interface RevisionOwner {
  readonly tenantId: string;
  /** Id in the API. */
  readonly deploymentId: string;
}

/** Conditions on archived revisions of a deployment. */
export interface RevisionSearch {
  /** Absent: any. */
  readonly status?: readonly string[] | undefined;
  /** Ids that are left out: those that the API server holds still. */
  readonly except: readonly string[];
  readonly offset: number;
  readonly limit: number;
}

/** Limits of the revisions of a deployment that are kept. */
export interface RevisionBounds {
  readonly revisions: number;
  /** Number of revisions that keep their last output, which may be half a megabyte each. */
  readonly withOutputs: number;
}

const BOUNDS: RevisionBounds = { revisions: 1_000, withOutputs: 20 };

const OF_OWNER = 'tenant_id = $1 AND deployment_id = $2';

/**
 * Revisions past the limit of the history of their deployments, which the API server holds no longer.
 * The table `archived_revisions`.
 */
export class RevisionArchiveTable {
  constructor(
    private readonly pool: Pool,
    private readonly bounds = BOUNDS,
  ) {}

  /**
   * Stores a revision; repeating it replaces the stored one. Afterwards the oldest of the deployment are
   * dropped beyond 1,000, and the outputs of all but the newest 20 that have some.
   * @param outputs JSON of the last output of its containers and its build
   */
  async store(
    { tenantId, deploymentId }: RevisionOwner,
    { id, number, status, object }: ArchivedRevision,
    outputs: string | undefined,
  ): Promise<void> {
    const { revisions, withOutputs } = this.bounds;
    await inTransaction(this.pool, async (db) => {
      await db.query(
        `INSERT INTO archived_revisions (tenant_id, deployment_id, id, number, status, object, outputs)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (tenant_id, deployment_id, id)
        DO UPDATE SET status = excluded.status, object = excluded.object, outputs = CASE
          -- of another resource with that number, after all were deleted by hand
          WHEN archived_revisions.object::json #>> '{metadata,uid}' IS DISTINCT FROM excluded.object::json #>> '{metadata,uid}'
            THEN excluded.outputs
          ELSE coalesce(excluded.outputs, archived_revisions.outputs) END
        WHERE archived_revisions.number = excluded.number`,
        [tenantId, deploymentId, id, number, status, object, outputs],
      );
      await db.query(
        `DELETE FROM archived_revisions WHERE ${OF_OWNER} AND id IN (
          SELECT id FROM archived_revisions WHERE ${OF_OWNER} ORDER BY number DESC, id DESC OFFSET $3)`,
        [tenantId, deploymentId, revisions],
      );
      await db.query(
        `UPDATE archived_revisions SET outputs = NULL WHERE ${OF_OWNER} AND id IN (
          SELECT id FROM archived_revisions WHERE ${OF_OWNER} AND outputs IS NOT NULL
          ORDER BY number DESC, id DESC OFFSET $3)`,
        [tenantId, deploymentId, withOutputs],
      );
    });
  }

  async find({ tenantId, deploymentId }: RevisionOwner, id: string): Promise<ArchivedRevision | undefined> {
    const { rows } = await this.pool.query<ArchivedRevision>(
      `SELECT id, number, status, object FROM archived_revisions WHERE ${OF_OWNER} AND id = $3`,
      [tenantId, deploymentId, id],
    );
    return rows[0];
  }

  /** JSON of its last output; undefined when nothing is kept. */
  async findOutputs({ tenantId, deploymentId }: RevisionOwner, id: string): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ outputs: string | null }>(
      `SELECT outputs FROM archived_revisions WHERE ${OF_OWNER} AND id = $3`,
      [tenantId, deploymentId, id],
    );
    return rows[0]?.outputs ?? undefined;
  }

  /** Revisions by number, newest first. */
  async list(
    { tenantId, deploymentId }: RevisionOwner,
    { status, except, offset, limit }: RevisionSearch,
  ): Promise<readonly ArchivedRevision[]> {
    const { rows } = await this.pool.query<ArchivedRevision>(
      `SELECT id, number, status, object FROM archived_revisions
      WHERE ${OF_OWNER} AND id <> ALL($3::uuid[]) AND ($4::text[] IS NULL OR status = ANY($4))
      ORDER BY number DESC, id DESC OFFSET $5 LIMIT $6`,
      [tenantId, deploymentId, except, status ?? null, offset, limit],
    );
    return rows;
  }

  /** Ids among these that the archive has. */
  async among({ tenantId, deploymentId }: RevisionOwner, ids: readonly string[]): Promise<readonly string[]> {
    const { rows } = await this.pool.query<{ id: string }>(
      `SELECT id FROM archived_revisions WHERE ${OF_OWNER} AND id = ANY($3::uuid[])`,
      [tenantId, deploymentId, ids],
    );
    return rows.map(({ id }) => id);
  }

  /** Number of revisions beside these. */
  async count({ tenantId, deploymentId }: RevisionOwner, except: readonly string[]): Promise<number> {
    const { rows } = await this.pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM archived_revisions WHERE ${OF_OWNER} AND id <> ALL($3::uuid[])`,
      [tenantId, deploymentId, except],
    );
    return rows[0]?.count ?? 0;
  }

  /** Drops all of a deployment that is deleted. */
  async forget({ tenantId, deploymentId }: RevisionOwner): Promise<void> {
    await this.pool.query(`DELETE FROM archived_revisions WHERE ${OF_OWNER}`, [tenantId, deploymentId]);
  }
}

export type RevisionArchive = Pick<RevisionArchiveTable, keyof RevisionArchiveTable>;
