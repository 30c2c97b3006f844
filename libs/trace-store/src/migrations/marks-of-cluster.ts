import type { Migration } from '#lib/postgres';

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
