/** Table of schedules of runs. */
export const CRONS = `
CREATE TABLE agentplane.crons (
  cron_id uuid PRIMARY KEY,
  assistant_id uuid NOT NULL,
  -- null: each run has a thread of its own
  thread_id uuid,
  on_run_completed text NOT NULL CHECK (on_run_completed IN ('delete', 'keep')),
  schedule text NOT NULL,
  timezone text,
  end_time timestamptz,
  enabled boolean NOT NULL DEFAULT true,
  -- why the server itself has disabled it
  disabled_reason text,
  -- of its runs: the request, and what its maker adds to configurable
  payload json NOT NULL,
  caller json NOT NULL,
  user_id text,
  metadata jsonb NOT NULL DEFAULT '{}',
  -- null: it fires no more
  next_run_date timestamptz,
  last_run_date timestamptz,
  last_run_id uuid,
  -- why the last fire made no run
  last_error text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX crons_due ON agentplane.crons (next_run_date) WHERE enabled AND next_run_date IS NOT NULL;
CREATE INDEX crons_by_thread ON agentplane.crons (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX crons_by_metadata ON agentplane.crons USING gin (metadata jsonb_path_ops);
`;
