import type { Queryable } from '#lib/postgres';
import { MAX_ATTACHMENT_BYTES } from './attachment/attachment-table.js';
import { MAX_DATASET_BYTES } from './dataset/write-version.js';

/** Usage of a limit by a tenant. */
export interface Use {
  readonly used: number;
  /** Absent: any number. */
  readonly most: number | undefined;
}

/** Usage of all limits of the store by a tenant. */
export interface TenantUse {
  /** API keys in force, those of deployments not counted. */
  readonly apiKeys: Use;
  readonly projects: Use;
  readonly datasets: Use;
  readonly datasetBytes: Use;
  readonly attachmentBytes: Use;
}

/** The bounds that the store is opened with. */
interface Bounds {
  readonly maxApiKeys?: number;
  readonly maxProjects?: number;
  readonly maxDatasets?: number;
  readonly maxDatasetBytes?: number;
  readonly maxAttachmentBytes?: number;
}

/** Counts as the checks of these bounds do. */
export async function readTenantUse(db: Queryable, tenantId: string, bounds: Bounds): Promise<TenantUse> {
  const { rows } = await db.query<Readonly<Record<keyof TenantUse, string>>>(
    `SELECT
      (SELECT count(*) FROM api_keys WHERE tenant_id = $1 AND scope <> 'deployment'
        AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())) AS "apiKeys",
      (SELECT count(*) FROM projects WHERE tenant_id = $1) AS projects,
      (SELECT count(*) FROM datasets WHERE tenant_id = $1 AND deleted_at IS NULL) AS datasets,
      (SELECT coalesce(sum(stored_bytes), 0) FROM datasets WHERE tenant_id = $1) AS "datasetBytes",
      coalesce((SELECT bytes FROM attachment_usage WHERE tenant_id = $1), 0) AS "attachmentBytes"`,
    [tenantId],
  );
  const use = (what: keyof TenantUse, most: number | undefined): Use => ({
    used: Number(rows[0]?.[what] ?? 0),
    most,
  });
  return {
    apiKeys: use('apiKeys', bounds.maxApiKeys),
    projects: use('projects', bounds.maxProjects),
    datasets: use('datasets', bounds.maxDatasets),
    datasetBytes: use('datasetBytes', bounds.maxDatasetBytes ?? MAX_DATASET_BYTES),
    attachmentBytes: use('attachmentBytes', bounds.maxAttachmentBytes ?? MAX_ATTACHMENT_BYTES),
  };
}
