import type { Migration } from '#lib/postgres';

/** Exports that ended a while ago, and their runs: the API server holds them no longer. */
export const exportArchive: Migration = {
  version: 33,
  name: 'archive of exports',
  sql: `
CREATE TABLE archived_exports (
  tenant_id      uuid NOT NULL,
  -- that of the wire
  id             uuid NOT NULL,
  name           text NOT NULL COLLATE "C",
  created_at     timestamptz NOT NULL,
  -- word of the wire
  status         text NOT NULL,
  destination_id uuid,
  project_id     uuid,
  -- the schedule that made it
  source_id      uuid,
  -- of a window of a schedule; null for an export that was asked for
  window_end     timestamptz,
  -- the resource as it was, JSON
  object         text NOT NULL,
  archived_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, id)
);
CREATE INDEX archived_exports_by_age ON archived_exports (tenant_id, created_at DESC, name DESC);
CREATE INDEX archived_exports_by_source ON archived_exports (tenant_id, source_id, window_end) WHERE source_id IS NOT NULL;

CREATE TABLE archived_export_runs (
  tenant_id  uuid NOT NULL,
  export_id  uuid NOT NULL,
  id         uuid NOT NULL,
  -- of the resource: the key of its progress and files, which stay
  uid        text NOT NULL,
  start_time timestamptz NOT NULL,
  object     text NOT NULL,
  PRIMARY KEY (tenant_id, export_id, id),
  FOREIGN KEY (tenant_id, export_id) REFERENCES archived_exports ON DELETE CASCADE
);
CREATE INDEX archived_export_runs_by_uid ON archived_export_runs (uid);
`,
};
