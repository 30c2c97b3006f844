import type { Migration } from '#lib/postgres';

/**
 * Feedback in exports: the resource that a run exports at present, the resource of each file, and feedback in
 * the order of its runs.
 */
export const feedbackExports: Migration = {
  version: 35,
  name: 'feedback in exports',
  sql: `
ALTER TABLE export_progress
  ADD resource text NOT NULL DEFAULT 'runs' CHECK (resource IN ('runs', 'feedback')),
  ADD feedback_rows bigint NOT NULL DEFAULT 0;
ALTER TABLE export_files ADD resource text NOT NULL DEFAULT 'runs' CHECK (resource IN ('runs', 'feedback'));
CREATE INDEX feedback_time ON feedback (tenant_id, project_id, start_time, id) WHERE run_id IS NOT NULL;
`,
};
