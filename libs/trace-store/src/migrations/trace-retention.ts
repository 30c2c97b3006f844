import { buildPartitionedIndex, type Migration } from '#lib/postgres';

/** Retention of runs by tenant. A tenant without a row keeps them indefinitely. */
export const traceRetention: Migration = {
  version: 23,
  name: 'retention of traces',
  sql: `
CREATE TABLE trace_retention (
  tenant_id       uuid PRIMARY KEY,
  -- of shortlived runs, and of all; null: kept for good
  shortlived_days integer CHECK (shortlived_days > 0),
  longlived_days  integer CHECK (longlived_days > 0),
  default_tier    text NOT NULL DEFAULT 'longlived' CHECK (default_tier IN ('shortlived', 'longlived')),
  -- when expired runs are looked for next
  due_at          timestamptz NOT NULL DEFAULT '-infinity'
);
CREATE INDEX trace_retention_due ON trace_retention (due_at);
`,
};

/** Finds expired runs of the short tier without reading those of the long one. Empty where no run is shortlived. */
export const shortlivedRuns: Migration = {
  version: 24,
  name: 'shortlived runs',
  transaction: false,
  perform: (connection) =>
    buildPartitionedIndex(connection, {
      name: 'runs_shortlived',
      table: 'runs',
      on: `(tenant_id, project_id, start_time, id, trace_id) WHERE trace_tier = 'shortlived'`,
    }),
};
