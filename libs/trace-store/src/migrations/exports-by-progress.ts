import type { Migration } from '#lib/postgres';

/** The runs of an export are counted, and their files listed, when its last one ends. */
export const exportsByProgress: Migration = {
  version: 48,
  name: 'progress by export',
  sql: `
CREATE INDEX export_progress_of_export ON export_progress (export_uid) WHERE export_uid IS NOT NULL;
DROP INDEX export_progress_unfinished;
`,
};
