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

/** Cancelling an export shuts out the attempts of all of its runs in one statement. */
export const exportFences: Migration = {
  version: 44,
  name: 'fences of exports',
  sql: `
-- a row for each export of which a run was claimed, or that was cancelled
CREATE TABLE export_fences (
  export_uid   text PRIMARY KEY,
  is_cancelled boolean NOT NULL DEFAULT false
);
ALTER TABLE export_progress ADD COLUMN export_uid text;
CREATE INDEX export_progress_unfinished ON export_progress (export_uid) WHERE state IN ('running', 'failed', 'held');
`,
};

/** The runs of an export are counted, and their files listed, when its last one ends. */
export const exportsByProgress: Migration = {
  version: 48,
  name: 'progress by export',
  sql: `
CREATE INDEX export_progress_of_export ON export_progress (export_uid) WHERE export_uid IS NOT NULL;
DROP INDEX export_progress_unfinished;
`,
};

/** Runs of exports begin with what a run of another export has finished. */
export const exportContinuations: Migration = {
  version: 36,
  name: 'continuations of exports',
  sql: `
-- every row of the window lies in files, adopted from a run that was complete: only the manifest is missing
ALTER TABLE export_progress ADD COLUMN is_whole boolean NOT NULL DEFAULT false;
-- the export that it continues
ALTER TABLE archived_exports ADD COLUMN continues_id uuid;
CREATE INDEX archived_exports_by_continued ON archived_exports (tenant_id, continues_id) WHERE continues_id IS NOT NULL;
`,
};

/**
 * The transactions that were committed when a run of an export began, so that rows which came or changed
 * later can be found.
 */
export const exportMarks: Migration = {
  version: 37,
  name: 'marks of exports',
  sql: `
ALTER TABLE export_progress
  -- taken with the first claim: what its snapshots saw at least; null for runs of earlier versions
  ADD COLUMN read_from pg_snapshot,
  -- only rows that it does not see are exported: the mark of a run of another export
  ADD COLUMN changed_since pg_snapshot;
`,
};

/** Runs of a suspended export that a worker has before it are held: it passes them over. */
export const heldExports: Migration = {
  version: 42,
  name: 'export runs that are held',
  sql: `
ALTER TABLE export_progress
  DROP CONSTRAINT export_progress_state_check,
  ADD CONSTRAINT export_progress_state_check
    CHECK (state IN ('running', 'completed', 'failed', 'cancelled', 'held'));
`,
};

/**
 * Marks of export runs name the cluster whose transactions they are about: in another one, after a restore
 * from a dump, the same numbers are other transactions. Existing marks are taken to be of this cluster, since
 * their origin cannot be known.
 */
export const marksOfCluster: Migration = {
  version: 40,
  name: 'the cluster of marks of export runs',
  sql: `
ALTER TABLE export_progress
  ADD COLUMN read_in text,
  ADD COLUMN changed_since_in text;
UPDATE export_progress SET
  read_in = CASE WHEN read_from IS NOT NULL THEN (SELECT system_identifier::text FROM pg_control_system()) END,
  changed_since_in = CASE WHEN changed_since IS NOT NULL THEN (SELECT system_identifier::text FROM pg_control_system()) END
WHERE read_from IS NOT NULL OR changed_since IS NOT NULL;
`,
};

/** Fences of exports that have long ended are removed. */
export const agedFences: Migration = {
  version: 49,
  name: 'times of export fences',
  sql: `ALTER TABLE export_fences ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now()`,
};

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

/** Revisions past the limit of the history of their deployments: the API server holds them no longer. */
export const revisionArchive: Migration = {
  version: 43,
  name: 'archive of revisions',
  sql: `
CREATE TABLE archived_revisions (
  tenant_id     uuid NOT NULL,
  -- ids are those of the wire
  deployment_id uuid NOT NULL,
  id            uuid NOT NULL,
  number        integer NOT NULL,
  -- word of the wire
  status        text NOT NULL,
  -- the resource as it was, JSON
  object        text NOT NULL,
  -- what its containers and its build printed last, JSON
  outputs       text,
  archived_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, deployment_id, id)
);
CREATE INDEX archived_revisions_by_number ON archived_revisions (tenant_id, deployment_id, number DESC, id DESC);
`,
};
