import type { Connection } from '#lib/postgres';

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
