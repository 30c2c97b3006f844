import type { Migration } from '#lib/postgres';

/**
 * Data that ingestion refused, repaired and left out, for the people of a project. The writer limits their
 * number.
 */
export const ingestProblemTables: Migration = {
  version: 7,
  name: 'ingest problems',
  sql: `
-- project_id is zero where a refused run named no project that exists.
CREATE TABLE ingest_problems (
  seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  kind       text NOT NULL CHECK (kind IN ('refused', 'mended', 'dropped')),
  type       text NOT NULL,
  run_id     text,
  member     text,
  message    text NOT NULL
);
CREATE INDEX ingest_problems_project ON ingest_problems (tenant_id, project_id, seq);
CREATE INDEX ingest_problems_tenant ON ingest_problems (tenant_id, seq);
CREATE TABLE ingest_problem_counts (
  tenant_id     uuid NOT NULL,
  project_id    uuid NOT NULL,
  kind          text NOT NULL,
  type          text NOT NULL,
  count         bigint NOT NULL,
  first_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, project_id, kind, type)
);
`,
};
