import { randomUUID } from 'node:crypto';
import { inTransaction, sqlState, type Pool, type Queryable } from '#lib/postgres';
import type { AttachmentContent, Attachments, UnusedObject } from './attachments.js';

/** Longer than any request lasts: until then an object that nothing refers to may be on its way. */
const WRITING = "interval '1 hour'";
const REFERRING = "interval '15 minutes'";
const TRYING_AGAIN = "interval '10 minutes'";

/** An object counts as many bytes at least: a row and a file cost something, too. */
const LEAST_COUNTED = 4_096;
const UNIQUE_VIOLATION = '23505';

/** The table of objects, and the bytes that tenants have in them. */
export class AttachmentObjects {
  constructor(
    private readonly pool: Pool,
    private readonly maxBytes: number,
  ) {}

  async begin(tenantId: string, size: number): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ id: string }>(
      `INSERT INTO attachment_objects (tenant_id, id, check_after)
      SELECT $1::uuid, $2::uuid, clock_timestamp() + ${WRITING}
      WHERE $3::bigint + coalesce((SELECT bytes FROM attachment_usage WHERE tenant_id = $1), 0) <= $4::bigint
      RETURNING id`,
      [tenantId, randomUUID(), Math.max(size, LEAST_COUNTED), this.maxBytes],
    );
    return rows[0]?.id;
  }

  async findContent(tenantId: string, { sha256 }: AttachmentContent): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ id: string }>(
      `UPDATE attachment_objects SET check_after = clock_timestamp() + ${REFERRING}
      WHERE tenant_id = $1 AND sha256 = $2 AND state = 'stored' RETURNING id`,
      [tenantId, sha256],
    );
    return rows[0]?.id;
  }

  async reserve(tenantId: string, id: string, { sha256, size }: AttachmentContent): Promise<boolean> {
    const { rowCount } = await this.pool.query(
      `WITH room AS (
        INSERT INTO attachment_usage AS u (tenant_id, bytes)
        SELECT $1::uuid, $5::bigint WHERE $5::bigint <= $6::bigint
          AND EXISTS (SELECT FROM attachment_objects WHERE tenant_id = $1 AND id = $2 AND state = 'writing' AND size IS NULL)
        ON CONFLICT (tenant_id) DO UPDATE SET bytes = u.bytes + EXCLUDED.bytes
          WHERE u.bytes + EXCLUDED.bytes <= $6::bigint
        RETURNING tenant_id
      )
      UPDATE attachment_objects o SET sha256 = $3, size = $4 FROM room
      WHERE o.tenant_id = $1 AND o.id = $2 AND o.state = 'writing' AND o.size IS NULL`,
      [tenantId, id, sha256, size, Math.max(size, LEAST_COUNTED), this.maxBytes],
    );
    return rowCount === 1;
  }

  async settle(tenantId: string, id: string, content: AttachmentContent): Promise<string | undefined> {
    try {
      const { rowCount } = await this.pool.query(
        `UPDATE attachment_objects SET state = 'stored', check_after = clock_timestamp() + ${REFERRING}
        WHERE tenant_id = $1 AND id = $2 AND state = 'writing'`,
        [tenantId, id],
      );
      if (rowCount === 1) return id;
    } catch (error) {
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
      await this.abandon(tenantId, id);
    }
    return this.findContent(tenantId, content);
  }

  async abandon(tenantId: string, id: string): Promise<void> {
    await this.pool.query(
      `UPDATE attachment_objects SET check_after = clock_timestamp()
      WHERE tenant_id = $1 AND id = $2 AND state = 'writing'`,
      [tenantId, id],
    );
  }

  /**
   * Takes unused objects of all tenants. A transaction that refers to an object locks it, and finds it either
   * `stored` or gone, so the check for references, in a separate statement after the lock, is final.
   */
  async takeUnused(limit: number): ReturnType<Attachments['takeUnused']> {
    return inTransaction(this.pool, async (client) => {
      const { rows } = await client.query<{ tenant_id: string; id: string }>(
        `SELECT tenant_id, id FROM attachment_objects WHERE check_after <= clock_timestamp()
        ORDER BY check_after LIMIT $1 FOR UPDATE SKIP LOCKED`,
        [limit],
      );
      if (rows.length === 0) return { unused: [], isMore: false };
      const taken = await client.query<{ tenant_id: string; id: string; state: string }>(
        `UPDATE attachment_objects o SET state = CASE WHEN d.is_used THEN 'stored' ELSE 'removing' END,
          check_after = CASE WHEN d.is_used THEN NULL ELSE clock_timestamp() + ${TRYING_AGAIN} END
        FROM (
          SELECT u.tenant_id, u.id, EXISTS (
            SELECT FROM attachments a WHERE a.tenant_id = u.tenant_id AND a.object_id = u.id
          ) OR EXISTS (
            SELECT FROM example_attachments a WHERE a.tenant_id = u.tenant_id AND a.object_id = u.id
          ) OR EXISTS (
            SELECT FROM source_archives a WHERE a.tenant_id = u.tenant_id AND a.object_id = u.id
          ) AS is_used FROM unnest($1::uuid[], $2::uuid[]) AS u(tenant_id, id)
        ) d WHERE o.tenant_id = d.tenant_id AND o.id = d.id RETURNING o.tenant_id, o.id, o.state`,
        [rows.map((row) => row.tenant_id), rows.map(({ id }) => id)],
      );
      const unused = taken.rows
        .filter(({ state }) => state === 'removing')
        .map((row) => ({ tenantId: row.tenant_id, id: row.id }));
      return { unused, isMore: rows.length === limit };
    });
  }

  async forget({ tenantId, id }: UnusedObject): Promise<void> {
    await this.pool.query(
      `WITH gone AS (
        DELETE FROM attachment_objects WHERE tenant_id = $1 AND id = $2 AND state = 'removing' RETURNING size
      )
      UPDATE attachment_usage u SET bytes = greatest(0, u.bytes - greatest(gone.size, ${LEAST_COUNTED})) FROM gone
      WHERE u.tenant_id = $1 AND gone.size IS NOT NULL`,
      [tenantId, id],
    );
  }
}

/** @returns those that are stored, kept as they are until the transaction ends */
export async function lockStored(
  client: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM attachment_objects WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND state = 'stored'
    ORDER BY id FOR KEY SHARE`,
    [tenantId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}
