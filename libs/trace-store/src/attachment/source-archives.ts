import { inTransaction, type Pool } from '#lib/postgres';
import { RELEASE } from '../run/remove-runs.js';
import { lockStored } from './attachment-table.js';

/** Place of an archive: its deployment, and its id, which the upload URL gave it. */
interface ArchiveOfDeployment {
  readonly deploymentId: string;
  readonly id: string;
}

/** The same of any tenant. */
export interface SourcePlace extends ArchiveOfDeployment {
  readonly tenantId: string;
}

const NAMED_WITHIN = "interval '2 hours'";
const PAGE = 1_000;
const FIRST = '00000000-0000-0000-0000-000000000000';

/**
 * References from deployments to uploaded archives, whose bytes are objects as those of attachments are.
 * The table `source_archives`.
 */
export class SourceArchiveTable {
  constructor(private readonly pool: Pool) {}

  /**
   * Refers to a stored object.
   * @returns `used` when the place has an archive already, `gone` when the object was removed meanwhile
   */
  async add(
    tenantId: string,
    { deploymentId, id }: ArchiveOfDeployment,
    objectId: string,
  ): Promise<'added' | 'used' | 'gone'> {
    return inTransaction(this.pool, async (db) => {
      const stored = await lockStored(db, tenantId, [objectId]);
      if (!stored.has(objectId)) return 'gone';
      const { rowCount } = await db.query(
        `INSERT INTO source_archives (tenant_id, deployment_id, id, object_id) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING`,
        [tenantId, deploymentId, id, objectId],
      );
      return rowCount === 1 ? 'added' : 'used';
    });
  }

  /** The object of an archive; undefined when none was uploaded, or it was removed. */
  async find(
    tenantId: string,
    { deploymentId, id }: ArchiveOfDeployment,
  ): Promise<{ readonly objectId: string; readonly size: number } | undefined> {
    const { rows } = await this.pool.query<{ object_id: string; size: string }>(
      `SELECT a.object_id, o.size FROM source_archives a
      JOIN attachment_objects o ON o.tenant_id = $1 AND o.id = a.object_id AND o.state = 'stored'
      WHERE a.tenant_id = $1 AND a.deployment_id = $2 AND a.id = $3`,
      [tenantId, deploymentId, id],
    );
    const [found] = rows;
    return found && { objectId: found.object_id, size: Number(found.size) };
  }

  /**
   * Archives of all tenants that were uploaded two hours ago or earlier, so that revisions have named them if
   * any will.
   * @param after the last one of the page before
   */
  async aged(after?: SourcePlace): Promise<readonly SourcePlace[]> {
    const { tenantId = FIRST, deploymentId = FIRST, id = FIRST } = after ?? {};
    const { rows } = await this.pool.query<{ tenant_id: string; deployment_id: string; id: string }>(
      `SELECT tenant_id, deployment_id, id FROM source_archives
      WHERE (tenant_id, deployment_id, id) > ($1, $2, $3) AND created_at < clock_timestamp() - ${NAMED_WITHIN}
      ORDER BY tenant_id, deployment_id, id LIMIT ${PAGE}`,
      [tenantId, deploymentId, id],
    );
    return rows.map((row) => ({ tenantId: row.tenant_id, deploymentId: row.deployment_id, id: row.id }));
  }

  /** Removes references; tidying removes objects without any. */
  async remove(tenantId: string, archives: readonly ArchiveOfDeployment[]): Promise<void> {
    await this.pool.query(
      `WITH gone AS (
        DELETE FROM source_archives a USING unnest($2::uuid[], $3::uuid[]) AS g(deployment_id, id)
        WHERE a.tenant_id = $1 AND a.deployment_id = g.deployment_id AND a.id = g.id RETURNING a.object_id
      ), ${RELEASE}`,
      [tenantId, archives.map(({ deploymentId }) => deploymentId), archives.map(({ id }) => id)],
    );
  }
}

export type SourceArchives = Pick<SourceArchiveTable, keyof SourceArchiveTable>;
