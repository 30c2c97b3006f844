import type { Migration } from '#lib/postgres';

/** Runs that came before one of their ancestors, until it comes. */
export const unplacedRuns: Migration = {
  version: 12,
  name: 'unplaced runs',
  sql: `
CREATE TABLE unplaced_runs (
  tenant_id     uuid NOT NULL,
  project_id    uuid NOT NULL,
  start_time    timestamptz NOT NULL,
  trace_id      uuid NOT NULL,
  run_id        uuid NOT NULL,
  parent_run_id uuid NOT NULL,
  received_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, trace_id, run_id)
);
CREATE INDEX unplaced_runs_parent ON unplaced_runs (tenant_id, trace_id, parent_run_id);
-- Those whose ancestors never come end by age.
CREATE INDEX unplaced_runs_age ON unplaced_runs (received_at);
`,
};
