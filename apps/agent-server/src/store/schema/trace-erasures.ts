/**
 * Traces that the platform has yet to delete: a row is written in the deletion of the thread or run, and is
 * removed once the platform has answered.
 */
export const TRACE_ERASURES = `
CREATE TABLE agentplane.trace_erasures (
  kind text NOT NULL CHECK (kind IN ('trace', 'thread')),
  -- of the run, which is that of its trace; or of the thread
  id uuid NOT NULL,
  -- traces of the thread that began later stay: its id may be used again
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_error text,
  PRIMARY KEY (kind, id)
);
CREATE INDEX trace_erasures_due ON agentplane.trace_erasures (next_attempt_at);
`;
