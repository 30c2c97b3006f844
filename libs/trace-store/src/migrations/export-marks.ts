import type { Migration } from '#lib/postgres';

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
