import type { Migration } from '#lib/postgres';

/** Uploaded archives of deployments, which refer to objects as attachments do. */
export const sourceArchives: Migration = {
  version: 50,
  name: 'archives of sources',
  sql: `
CREATE TABLE source_archives (
  tenant_id     uuid NOT NULL,
  deployment_id uuid NOT NULL,
  -- of its upload URL, which is used once
  id            uuid NOT NULL,
  object_id     uuid NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, deployment_id, id)
);
CREATE INDEX source_archives_object ON source_archives (tenant_id, object_id);
`,
};
