/**
 * Relayed events keep the position that they have in the output of their run; rows remember that output is
 * wanted.
 */
export const RUN_LOGS = `
DROP TABLE agentplane.run_events;
CREATE UNLOGGED TABLE agentplane.run_events (
  run_id uuid NOT NULL,
  attempt int NOT NULL,
  n int NOT NULL,
  event text NOT NULL,
  data text NOT NULL,
  -- sent again for one reader: nothing new for the others
  repeated boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, attempt, n)
);
CREATE INDEX run_events_by_age ON agentplane.run_events (created_at);

-- Its output has readers: every attempt records it from its first event.
ALTER TABLE agentplane.runs ADD COLUMN streamed boolean NOT NULL DEFAULT false;
-- Runs without a thread whose output may still be read.
CREATE INDEX runs_ended_temporary ON agentplane.runs (ended_at) WHERE temporary AND ended_at IS NOT NULL;
`;
