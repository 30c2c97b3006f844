import type { Pool } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { LakeStore } from '../lake/segment-reader.js';

/** The bucket is searched so often at most. */
const PERIOD = '1 day';
/** A restore of an older database may be followed by one of a newer, whose rows name the files again. */
const KEPT = '7 days';
const KEYS_AT_ONCE = 1_000;
/** Keys of files of rows, and of the objects of a table; nothing else is ever deleted. */
const KEY = /^([\da-f-]{36})\/([\da-f-]{36})\/(?:day=.+\/([\da-f-]{36})\.parquet|table\/metadata\/[^/]+)$/;

interface FoundObject {
  readonly key: string;
  readonly tenantId: string;
  readonly projectId: string;
  /** Segment; undefined for an object of a table. */
  readonly id: string | undefined;
}

/**
 * Notes objects that no row names, so that they are deleted a week later: a restored database does not know those of the
 * time after its backup. The row of an object is committed before the object, so none of a worker is among them.
 */
export async function noteUnnamedObjects(pool: Pool, lake: LakeStore, log: Logger): Promise<void> {
  const { rowCount } = await pool.query(
    `UPDATE lake_searches SET searched_at = clock_timestamp() WHERE searched_at < clock_timestamp() - interval '${PERIOD}'`,
  );
  if (rowCount === 0) return;
  let found: FoundObject[] = [];
  let objects = 0;
  const folder = `${lake.prefix}/`;
  for await (const { key } of lake.store.list(lake.bucket, folder)) {
    const [, tenantId, projectId, id] = KEY.exec(key.slice(folder.length)) ?? [];
    if (tenantId === undefined || projectId === undefined) continue;
    if (found.push({ key, tenantId, projectId, id }) < KEYS_AT_ONCE) continue;
    objects += await noteUnnamed(pool, found);
    found = [];
  }
  objects += await noteUnnamed(pool, found);
  if (objects > 0)
    log.warn({ objects, kept: KEPT }, 'found objects of sealed days that no row names; deleting them later');
}

/** The hint at the table of a project may be of the same time as these objects, so the table is published again. */
async function noteUnnamed(pool: Pool, found: readonly FoundObject[]): Promise<number> {
  const { rows } = await pool.query<{ objects: number }>(
    `WITH unnamed AS (
      SELECT f.* FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[]) AS f (key, tenant_id, project_id, id)
      WHERE NOT EXISTS (SELECT FROM lake_segments s WHERE s.id = f.id)
        AND NOT EXISTS (SELECT FROM lake_table_files t WHERE t.key = f.key)
    ), noted AS (
      INSERT INTO lake_garbage (key, since) SELECT key, clock_timestamp() + interval '${KEPT}' FROM unnamed
      ON CONFLICT DO NOTHING RETURNING key
    ), behind AS (
      UPDATE lake_tables t SET changes = t.changes + 1, behind_since = coalesce(t.behind_since, clock_timestamp())
      FROM (SELECT DISTINCT tenant_id, project_id FROM unnamed JOIN noted USING (key)) u
      WHERE t.tenant_id = u.tenant_id AND t.project_id = u.project_id
    )
    SELECT count(*)::int AS objects FROM noted`,
    [
      found.map(({ key }) => key),
      found.map(({ tenantId }) => tenantId),
      found.map(({ projectId }) => projectId),
      found.map(({ id }) => id),
    ],
  );
  return rows[0]?.objects ?? 0;
}
