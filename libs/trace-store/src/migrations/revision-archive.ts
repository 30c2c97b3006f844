import type { Migration } from '#lib/postgres';

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
