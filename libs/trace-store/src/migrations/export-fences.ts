import type { Migration } from '#lib/postgres';

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
