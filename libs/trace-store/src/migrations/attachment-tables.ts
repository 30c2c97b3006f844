import type { Migration } from '#lib/postgres';

/** Objects of the object store, and the runs that refer to them. */
export const attachmentTables: Migration = {
  version: 17,
  name: 'attachments',
  sql: `
CREATE TABLE attachment_objects (
  tenant_id   uuid NOT NULL,
  id          uuid NOT NULL,
  -- null until the last byte has come
  sha256      bytea,
  -- counted in attachment_usage once it is known
  size        bigint,
  state       text NOT NULL DEFAULT 'writing' CHECK (state IN ('writing', 'stored', 'removing')),
  -- when it has to be looked at whether anything refers to it; null: something does
  check_after timestamptz,
  PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX attachment_objects_content ON attachment_objects (tenant_id, sha256) WHERE state = 'stored';
CREATE INDEX attachment_objects_due ON attachment_objects (check_after) WHERE check_after IS NOT NULL;

CREATE TABLE attachments (
  tenant_id    uuid NOT NULL,
  run_id       uuid NOT NULL,
  name         text NOT NULL,
  -- of the run; null while it has not arrived
  trace_id     uuid,
  -- while the run has not arrived: the one project that its sender may write into, if there is one
  project_id   uuid,
  start_time   timestamptz,
  content_type text NOT NULL,
  object_id    uuid NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, run_id, name)
);
CREATE INDEX attachments_object ON attachments (tenant_id, object_id);
CREATE INDEX attachments_waiting ON attachments (tenant_id, created_at) WHERE start_time IS NULL;

CREATE TABLE attachment_usage (
  tenant_id uuid PRIMARY KEY,
  bytes     bigint NOT NULL
);
`,
};
