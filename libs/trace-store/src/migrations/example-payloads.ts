import type { Migration } from '#lib/postgres';

/** Payloads of examples once for all versions that have them, and the bytes of datasets. */
export const examplePayloads: Migration = {
  version: 25,
  name: 'payloads of examples',
  sql: `
CREATE TABLE example_payloads (
  tenant_id  uuid NOT NULL,
  dataset_id uuid NOT NULL,
  ordinal    bigint NOT NULL,
  -- SHA-256 of the content
  hash       bytea NOT NULL,
  content    text NOT NULL,
  PRIMARY KEY (tenant_id, dataset_id, ordinal, hash)
);
INSERT INTO example_payloads
SELECT e.tenant_id, e.dataset_id, e.ordinal, sha256(convert_to(p.content, 'UTF8')), p.content
FROM example_versions e CROSS JOIN LATERAL (VALUES (e.metadata), (e.inputs), (e.outputs)) AS p(content)
WHERE p.content IS NOT NULL ON CONFLICT DO NOTHING;

-- written anew instead of changed: columns that are dropped would keep their space
ALTER TABLE example_versions RENAME TO former_example_versions;
CREATE TABLE example_versions (
  tenant_id     uuid NOT NULL,
  dataset_id    uuid NOT NULL,
  -- its place in the order in which examples were made; all versions of an example share it
  ordinal       bigint NOT NULL,
  since         timestamptz NOT NULL,
  until         timestamptz,
  id            uuid NOT NULL,
  created_at    timestamptz NOT NULL,
  source_run_id uuid,
  splits        text[] NOT NULL,
  -- of its contents in example_payloads
  metadata_hash bytea,
  inputs_hash   bytea,
  outputs_hash  bytea
);
INSERT INTO example_versions
SELECT tenant_id, dataset_id, ordinal, since, until, id, created_at, source_run_id, splits,
  sha256(convert_to(metadata, 'UTF8')), sha256(convert_to(inputs, 'UTF8')), sha256(convert_to(outputs, 'UTF8'))
FROM former_example_versions;
DROP TABLE former_example_versions;
ALTER TABLE example_versions ADD PRIMARY KEY (tenant_id, dataset_id, ordinal, since);
CREATE UNIQUE INDEX example_versions_current ON example_versions (tenant_id, id) WHERE until IS NULL;
CREATE INDEX example_versions_listed ON example_versions (tenant_id, dataset_id, ordinal) WHERE until IS NULL;
CREATE INDEX example_versions_id ON example_versions (tenant_id, id, since);

-- contents, and 256 bytes and the splits of each version
ALTER TABLE datasets ADD COLUMN stored_bytes bigint NOT NULL DEFAULT 0;
UPDATE datasets d SET stored_bytes = coalesce((
    SELECT sum(octet_length(content)) FROM example_payloads p WHERE p.tenant_id = d.tenant_id AND p.dataset_id = d.id
  ), 0) + coalesce((
    SELECT sum(256 + octet_length(array_to_string(splits, ''))) FROM example_versions e
    WHERE e.tenant_id = d.tenant_id AND e.dataset_id = d.id
  ), 0);
`,
};
