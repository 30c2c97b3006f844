import type { Migration } from '#lib/postgres';

/** Traces and threads that were deleted by name, and must not come back by an upload in flight. */
export const traceErasures: Migration = {
  version: 4,
  name: 'erasures of traces',
  sql: `
CREATE TABLE trace_erasures (
  tenant_id  uuid NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('trace', 'thread')),
  -- of the trace, or of the thread that the traces name in their metadata
  id         text NOT NULL,
  project_id uuid NOT NULL,
  -- of a thread: traces that began later belong to a new thread of the same id; null for a trace
  began_by   timestamptz,
  erased_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- whether its rows were deleted; another process continues where one ended early
  is_done    boolean NOT NULL DEFAULT false,
  PRIMARY KEY (tenant_id, kind, id, project_id)
);
CREATE INDEX trace_erasures_age ON trace_erasures (erased_at);
-- The update's trace, where the update names it.
ALTER TABLE run_patches_waiting ADD COLUMN trace_id uuid;
-- Roots alone: each of them leads to all runs of its trace.
CREATE INDEX runs_thread ON runs (tenant_id, project_id, thread_id) WHERE is_root AND thread_id IS NOT NULL;
`,
};

export const runKeysByTrace: Migration = {
  version: 5,
  name: 'runs of a trace',
  transaction: false,
  statements: [
    'DROP INDEX CONCURRENTLY IF EXISTS run_keys_trace',
    'CREATE INDEX CONCURRENTLY run_keys_trace ON run_keys (tenant_id, trace_id)',
  ],
};
