import type { Migration } from '#lib/postgres';

/** Datasets, and every version of their examples. */
export const datasetTables: Migration = {
  version: 19,
  name: 'datasets',
  sql: `
CREATE TABLE datasets (
  tenant_id       uuid NOT NULL,
  id              uuid NOT NULL,
  name            text NOT NULL,
  description     text,
  data_type       text NOT NULL,
  -- JSON text
  inputs_schema   text,
  outputs_schema  text,
  metadata        text,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  modified_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- of the newest version; null while there are no examples
  version_at      timestamptz,
  example_count   bigint NOT NULL DEFAULT 0,
  -- places in the order of examples that were given out, rows in example_versions, numbers of experiments
  examples_made   bigint NOT NULL DEFAULT 0,
  stored_versions bigint NOT NULL DEFAULT 0,
  experiments     integer NOT NULL DEFAULT 0,
  -- its rows are being removed; it does not exist for anyone
  deleted_at      timestamptz,
  PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX datasets_name ON datasets (tenant_id, name) WHERE deleted_at IS NULL;
CREATE INDEX datasets_deleted ON datasets (deleted_at) WHERE deleted_at IS NOT NULL;

-- An example as it was from one version of its dataset until before another. Rows are ended, never changed.
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
  metadata      text,
  inputs        text,
  outputs       text,
  PRIMARY KEY (tenant_id, dataset_id, ordinal, since)
);
CREATE UNIQUE INDEX example_versions_current ON example_versions (tenant_id, id) WHERE until IS NULL;
CREATE INDEX example_versions_listed ON example_versions (tenant_id, dataset_id, ordinal) WHERE until IS NULL;
CREATE INDEX example_versions_id ON example_versions (tenant_id, id, since);

CREATE TABLE dataset_versions (
  tenant_id  uuid NOT NULL,
  dataset_id uuid NOT NULL,
  as_of      timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, dataset_id, as_of)
);

CREATE TABLE dataset_tags (
  tenant_id  uuid NOT NULL,
  dataset_id uuid NOT NULL,
  tag        text NOT NULL,
  as_of      timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, dataset_id, tag)
);
CREATE INDEX dataset_tags_version ON dataset_tags (tenant_id, dataset_id, as_of);
`,
};

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

/** Number of listed versions of a dataset: the oldest are removed when there are too many. */
export const listedVersions: Migration = {
  version: 39,
  name: 'number of versions of a dataset',
  sql: `
ALTER TABLE datasets ADD COLUMN listed_versions bigint NOT NULL DEFAULT 0;
UPDATE datasets d SET listed_versions = v.count FROM (
  SELECT tenant_id, dataset_id, count(*) AS count FROM dataset_versions GROUP BY 1, 2
) v WHERE v.tenant_id = d.tenant_id AND v.dataset_id = d.id;
`,
};

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
