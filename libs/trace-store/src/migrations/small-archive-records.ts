import type { Migration } from '#lib/postgres';

/**
 * Archived exports have a limit of bytes per tenant: beyond it the oldest keep their small record alone.
 * Exports that were archived before this step have no small record, and stay as they are. Every condition of
 * a list has an index in its order.
 */
export const smallArchiveRecords: Migration = {
  version: 34,
  name: 'small records of archived exports',
  sql: `
ALTER TABLE archived_exports
  ALTER object DROP NOT NULL,
  -- what is answered once the rest is dropped: the resource without what may be large, JSON
  ADD COLUMN small text,
  -- of the export, its runs and the keys of their files; null once they are dropped
  ADD COLUMN full_bytes bigint;
ALTER TABLE archived_export_runs
  ALTER object DROP NOT NULL,
  ADD COLUMN small text;

DROP INDEX archived_exports_by_age;
CREATE INDEX archived_exports_by_age ON archived_exports (tenant_id, created_at DESC, name DESC, id DESC);
CREATE INDEX archived_exports_by_status ON archived_exports (tenant_id, status, created_at DESC, name DESC, id DESC);
CREATE INDEX archived_exports_by_destination
  ON archived_exports (tenant_id, destination_id, created_at DESC, name DESC, id DESC) WHERE destination_id IS NOT NULL;
CREATE INDEX archived_exports_by_project
  ON archived_exports (tenant_id, project_id, created_at DESC, name DESC, id DESC) WHERE project_id IS NOT NULL;
CREATE INDEX archived_exports_of_source
  ON archived_exports (tenant_id, source_id, created_at DESC, name DESC, id DESC) WHERE source_id IS NOT NULL;
CREATE INDEX archived_exports_by_name ON archived_exports (tenant_id, name, created_at DESC);
CREATE INDEX archived_exports_in_full ON archived_exports (tenant_id, created_at DESC, name DESC, id DESC)
  INCLUDE (full_bytes) WHERE full_bytes IS NOT NULL;
`,
};
