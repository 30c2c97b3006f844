import type { Migration } from '#lib/postgres';

/** The run that represents the root of a trace in a project while the root has not come. */
export const traceTops: Migration = {
  version: 47,
  name: 'tops of traces without a root',
  sql: `
CREATE TABLE trace_tops (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  trace_id   uuid NOT NULL,
  -- null only within the transaction that looks for it
  run_id     uuid,
  start_time timestamptz,
  PRIMARY KEY (tenant_id, trace_id, project_id)
);
`,
};
