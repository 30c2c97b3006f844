import { CANCEL_RUN } from '../functions/cancel-run.js';

/**
 * Data that a webhook gets of a run `r` that ends: the run as the wire shows it. Its values are added when it
 * is sent.
 */
const RUN_FOR_WEBHOOK = `
CREATE FUNCTION agentplane.wire_time(moment timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
$$;

CREATE FUNCTION agentplane.run_for_webhook(r agentplane.runs, end_status text, end_error json)
RETURNS json LANGUAGE sql VOLATILE AS $$
  SELECT json_build_object('run_id', r.run_id, 'thread_id', r.thread_id, 'assistant_id', r.assistant_id,
    'created_at', agentplane.wire_time(r.created_at), 'updated_at', agentplane.wire_time(clock_timestamp()),
    'status', end_status, 'metadata', r.metadata, 'kwargs', r.kwargs, 'multitask_strategy', r.multitask_strategy,
    'run_started_at', agentplane.wire_time(r.started_at), 'run_ended_at', agentplane.wire_time(clock_timestamp()),
    'error', end_error);
$$;
`;

/** Calls that are due or were made: one for each run that ended and names a webhook. */
export const WEBHOOKS = `
-- when its first attempt began
ALTER TABLE agentplane.runs ADD COLUMN started_at timestamptz;

CREATE TABLE agentplane.webhooks (
  run_id uuid PRIMARY KEY,
  thread_id uuid NOT NULL,
  temporary boolean NOT NULL,
  -- of the run: one without a thread is found by it
  metadata jsonb NOT NULL,
  url text NOT NULL,
  host text NOT NULL GENERATED ALWAYS AS (substring(url FROM '://([^/]+)')) STORED,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  -- what is sent; null once the call has succeeded or failed for good
  run json,
  run_values json,
  attempts int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  next_attempt_at timestamptz DEFAULT clock_timestamp(),
  last_error text,
  settled_at timestamptz
);
CREATE INDEX webhooks_due ON agentplane.webhooks (next_attempt_at) WHERE state = 'pending';
CREATE INDEX webhooks_settled ON agentplane.webhooks (settled_at) WHERE state <> 'pending';
CREATE INDEX webhooks_by_thread ON agentplane.webhooks (thread_id);
${RUN_FOR_WEBHOOK}
${CANCEL_RUN}
`;

/** Webhooks that are paths of the agent's own HTTP app have no host. */
export const OWN_WEBHOOKS = `
ALTER TABLE agentplane.webhooks DROP COLUMN host;
ALTER TABLE agentplane.webhooks ADD COLUMN host text NOT NULL GENERATED ALWAYS AS (
  CASE WHEN left(url, 1) = '/' THEN '' ELSE substring(url FROM '://([^/]+)') END) STORED;
`;
