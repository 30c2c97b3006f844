import { CHANNEL } from '../channel.js';
import { OUTLINE } from '../row/run-outline.js';

/**
 * Cancels a run. A waiting run ends at once, and its webhook is due; a running one is asked to end, by its
 * row and a notification. A newer migration performs this text again, over the function of an older one.
 */
export const CANCEL_RUN = `
CREATE OR REPLACE FUNCTION agentplane.cancel_run(visible jsonb[], the_run uuid, of_thread uuid, action text)
RETURNS TABLE (outcome text) LANGUAGE plpgsql AS $$
DECLARE
  found_status text;
  gone_watchers uuid[];
  has_thread boolean;
BEGIN
  PERFORM 1 FROM agentplane.threads t WHERE t.thread_id = of_thread AND t.metadata @> ANY (visible) FOR UPDATE;
  has_thread := FOUND;
  SELECT r.status, r.watchers INTO found_status, gone_watchers FROM agentplane.runs r
    WHERE r.run_id = the_run AND r.thread_id = of_thread
      AND CASE WHEN r.temporary THEN r.metadata @> ANY (visible) ELSE has_thread END FOR UPDATE;
  IF NOT FOUND THEN RETURN QUERY SELECT 'no_run'::text; RETURN; END IF;
  IF found_status = 'running' THEN
    UPDATE agentplane.runs SET cancel = CASE cancel WHEN 'rollback' THEN cancel ELSE action END,
      updated_at = clock_timestamp() WHERE run_id = the_run;
    PERFORM pg_notify('${CHANNEL}', 'cancel:' || the_run);
    RETURN QUERY SELECT 'asked'::text; RETURN;
  END IF;
  IF found_status <> 'pending' THEN RETURN QUERY SELECT 'ended'::text; RETURN; END IF;
  INSERT INTO agentplane.webhooks (run_id, thread_id, temporary, metadata, url, run, bytes)
    SELECT r.run_id, r.thread_id, r.temporary, r.metadata, called.url,
      agentplane.run_for_webhook(r, 'interrupted', NULL), called.bytes
    FROM agentplane.runs r, LATERAL (
      SELECT o ->> 'webhook' AS url, (o ->> 'bytes')::bigint AS bytes FROM (SELECT ${OUTLINE} AS o) outline) called
    WHERE r.run_id = the_run AND called.url IS NOT NULL ON CONFLICT DO NOTHING;
  IF FOUND THEN PERFORM pg_notify('${CHANNEL}', 'webhook:'); END IF;
  IF action = 'rollback' OR EXISTS (SELECT 1 FROM agentplane.runs WHERE run_id = the_run AND temporary) THEN
    DELETE FROM agentplane.runs WHERE run_id = the_run;
  ELSE
    UPDATE agentplane.runs SET status = 'interrupted', cancel = action, ended_at = clock_timestamp(),
      updated_at = clock_timestamp() WHERE run_id = the_run;
  END IF;
  UPDATE agentplane.threads t SET status = t.resting_status, updated_at = clock_timestamp()
    WHERE t.thread_id = of_thread AND t.status = 'busy' AND NOT EXISTS (
      SELECT 1 FROM agentplane.runs r WHERE r.thread_id = of_thread AND r.status IN ('pending', 'running'));
  IF cardinality(gone_watchers) > 0 THEN PERFORM pg_notify('${CHANNEL}', 'events:' || the_run); END IF;
  RETURN QUERY SELECT 'done'::text;
END $$;
`;
