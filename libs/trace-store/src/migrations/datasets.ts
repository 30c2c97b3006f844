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
