import type { Migration } from '#lib/postgres';

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
