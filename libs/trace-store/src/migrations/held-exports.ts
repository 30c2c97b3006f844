import type { Migration } from '#lib/postgres';

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
