import { randomUUID } from 'node:crypto';
import { inTransaction, type Pool, type Queryable } from '#lib/postgres';
import { deletedProjects } from '../project/project-deletions.js';
import type { SharedTrace, Shares } from './shares.js';

interface Row {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly trace_id: string;
  readonly token: string;
}

/** The trace of a run; clients choose ids, so one may stand in several. Rows of deleted projects are none. */
const TRACE = `SELECT tenant_id, project_id, trace_id FROM run_keys
  WHERE tenant_id = $1 AND id = $2 AND project_id <> ALL (${deletedProjects('$1')}) ORDER BY trace_id LIMIT 1`;
const IS_ITS = 's.tenant_id = k.tenant_id AND s.trace_id = k.trace_id AND s.project_id = k.project_id';

/** The table `trace_shares`. */
export class ShareTable implements Shares {
  constructor(private readonly pool: Pool) {}

  async share(tenantId: string, runId: string): Promise<{ readonly token: string } | undefined> {
    return inTransaction(this.pool, async (client) => {
      // the key is locked: who deletes the run waits, and finds the share
      await client.query(
        `INSERT INTO trace_shares (tenant_id, project_id, trace_id, token)
        SELECT k.*, $3::uuid FROM (${TRACE} FOR KEY SHARE) k ON CONFLICT DO NOTHING`,
        [tenantId, runId, randomUUID()],
      );
      const found = await find(client, tenantId, runId);
      return found?.token === undefined ? undefined : { token: found.token };
    });
  }

  find(tenantId: string, runId: string): Promise<{ readonly token: string | undefined } | undefined> {
    return find(this.pool, tenantId, runId);
  }

  async unshare(tenantId: string, runId: string): Promise<boolean> {
    const { rows } = await this.pool.query(
      `WITH k AS (${TRACE}), gone AS (DELETE FROM trace_shares s USING k WHERE ${IS_ITS}) SELECT FROM k`,
      [tenantId, runId],
    );
    return rows.length > 0;
  }

  /** The one statement that names no tenant: the token is all that its sender has. */
  async open(token: string): Promise<SharedTrace | undefined> {
    const { rows } = await this.pool.query<Row>(
      `SELECT tenant_id, project_id, trace_id, token FROM trace_shares s WHERE token = $1
        AND NOT EXISTS (SELECT FROM project_deletions d WHERE d.tenant_id = s.tenant_id AND d.project_id = s.project_id)`,
      [token],
    );
    const [row] = rows;
    return (
      row && { tenantId: row.tenant_id, projectId: row.project_id, traceId: row.trace_id, token: row.token }
    );
  }
}

async function find(
  db: Queryable,
  tenantId: string,
  runId: string,
): Promise<{ readonly token: string | undefined } | undefined> {
  const { rows } = await db.query<{ token: string | null }>(
    `SELECT s.token FROM (${TRACE}) k LEFT JOIN trace_shares s ON ${IS_ITS}`,
    [tenantId, runId],
  );
  return rows.map(({ token }) => ({ token: token ?? undefined }))[0];
}
