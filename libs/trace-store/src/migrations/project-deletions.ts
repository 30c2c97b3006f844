import type { Migration } from '#lib/postgres';

/** Projects that were deleted: their rows go afterwards, piece by piece, and their ids are answered as deleted. */
export const projectDeletions: Migration = {
  version: 22,
  name: 'deletions of projects',
  sql: `
CREATE TABLE project_deletions (
  tenant_id     uuid NOT NULL,
  project_id    uuid NOT NULL,
  name          text NOT NULL,
  deleted_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- null while rows of it are left
  completed_at  timestamptz,
  -- another process leaves it alone until then
  claimed_until timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (tenant_id, project_id)
);
-- Few at a time: what is read of runs looks here, to leave out those that are to go.
CREATE INDEX project_deletions_pending ON project_deletions (tenant_id, deleted_at) INCLUDE (project_id)
  WHERE completed_at IS NULL;
CREATE INDEX project_deletions_completed ON project_deletions (completed_at) WHERE completed_at IS NOT NULL;
`,
};
