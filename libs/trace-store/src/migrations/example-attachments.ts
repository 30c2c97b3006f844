import type { Migration } from '#lib/postgres';

/**
 * Attachments of examples: those of each version, and the objects that any version of an example refers to.
 */
export const exampleAttachments: Migration = {
  version: 32,
  name: 'attachments of examples',
  sql: `
-- {NAME: {"object": id, "type": content type}}; null and {} are none
ALTER TABLE example_versions ADD COLUMN attachments jsonb;

CREATE TABLE example_attachments (
  tenant_id  uuid NOT NULL,
  dataset_id uuid NOT NULL,
  ordinal    bigint NOT NULL,
  object_id  uuid NOT NULL,
  PRIMARY KEY (tenant_id, dataset_id, ordinal, object_id)
);
CREATE INDEX example_attachments_object ON example_attachments (tenant_id, object_id);
`,
};
