import type { Connection } from '#lib/postgres';
import type { RunPlace } from './stored-run.js';

/**
 * Objects with fewer references are checked by the next tidying. Sorted: two removals wait instead of
 * deadlocking.
 */
export const RELEASE = `locked AS (
    SELECT o.id FROM attachment_objects o
    WHERE o.tenant_id = $1 AND o.state = 'stored' AND o.id IN (SELECT object_id FROM gone)
    ORDER BY o.id FOR NO KEY UPDATE
  )
  UPDATE attachment_objects o SET check_after = greatest(o.check_after, clock_timestamp()) FROM locked WHERE o.tenant_id = $1 AND o.id = locked.id`;

/** Removes the references of these runs of one tenant and project, whose keys the caller has locked or removed. */
export async function removeAttachments(client: Connection, places: readonly RunPlace[]): Promise<void> {
  const [first] = places;
  if (!first) return;
  await client.query(
    `WITH gone AS (
      DELETE FROM attachments a USING unnest($3::uuid[], $4::uuid[]) AS k(run_id, trace_id)
      WHERE a.tenant_id = $1 AND a.run_id = k.run_id AND (a.trace_id IS NULL OR a.trace_id = k.trace_id)
        AND (a.project_id IS NULL OR a.project_id = $2) RETURNING a.object_id
    ), ${RELEASE}`,
    [first.tenantId, first.projectId, places.map(({ id }) => id), places.map(({ traceId }) => traceId)],
  );
}

/** Removes the references of all runs of a project, whose keys the caller has removed. */
export async function removeAttachmentsOfProject(
  client: { query(text: string, values: unknown[]): Promise<unknown> },
  tenantId: string,
  projectId: string,
): Promise<void> {
  await client.query(
    `WITH gone AS (
      DELETE FROM attachments WHERE tenant_id = $1 AND project_id = $2 RETURNING object_id
    ), ${RELEASE}`,
    [tenantId, projectId],
  );
}
