import type { Migration } from '#lib/postgres';

/** Traces that links open for anyone. */
export const traceShares: Migration = {
  version: 21,
  name: 'shares of traces',
  sql: `
CREATE TABLE trace_shares (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  trace_id   uuid NOT NULL,
  -- random: who knows it may read the trace
  token      uuid NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, trace_id, project_id)
);
`,
};
