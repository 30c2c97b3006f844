import { CHANNEL } from '../channel.js';
import { claimable } from '../row/claimed-run.js';
import { CALLER_OF_RUN, OUTLINE } from '../row/run-outline.js';

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

/** Any constant beside the others of this schema: one server at a time counts and claims. */
const CLAIM_LOCK = 4_172_002;

/**
 * Takes runs that are due, oldest first, as far as the limits of runs at work allow (0: no limit). A run that
 * a limit holds back lets those of other assistants and callers pass.
 *
 * Each run that waits is looked up by the index of its thread, whatever the statistics say, which are a
 * minute old. With those of a time when most runs waited on one thread, Postgres read the whole table for
 * each run.
 */
export const CLAIM_LIMITED_RUNS = `
CREATE OR REPLACE FUNCTION agentplane.claim_limited_runs(
  max_runs int, server uuid, lease_ms int, graphs text[], per_assistant int, per_caller int
) RETURNS SETOF agentplane.runs LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  candidate record;
  claimed agentplane.runs;
  taken int := 0;
  -- runs at work, by assistant and by caller
  of_assistants jsonb := '{}';
  of_callers jsonb := '{}';
  of_assistant int;
  of_caller int;
BEGIN
  PERFORM pg_advisory_xact_lock(${CLAIM_LOCK});
  SELECT coalesce(jsonb_object_agg(c.name, c.runs), '{}') INTO of_assistants FROM (
    SELECT r.assistant_id AS name, count(*) AS runs FROM agentplane.runs r
    WHERE per_assistant > 0 AND r.status = 'running' GROUP BY 1) c;
  SELECT coalesce(jsonb_object_agg(c.name, c.runs), '{}') INTO of_callers FROM (
    SELECT ${CALLER_OF_RUN} AS name, count(*) AS runs FROM agentplane.runs r
    WHERE per_caller > 0 AND r.status = 'running' GROUP BY 1) c WHERE c.name IS NOT NULL;
  FOR candidate IN SELECT r.run_id, r.assistant_id,
      CASE WHEN per_caller > 0 THEN ${CALLER_OF_RUN} END AS caller
    FROM agentplane.runs r WHERE ${claimable('graphs')} ORDER BY r.ordinal FOR UPDATE SKIP LOCKED
  LOOP
    EXIT WHEN taken >= max_runs;
    of_assistant := coalesce((of_assistants ->> candidate.assistant_id::text)::int, 0);
    of_caller := coalesce((of_callers ->> candidate.caller)::int, 0);
    CONTINUE WHEN per_assistant > 0 AND of_assistant >= per_assistant
      OR candidate.caller IS NOT NULL AND of_caller >= per_caller;
    of_assistants := of_assistants || jsonb_build_object(candidate.assistant_id, of_assistant + 1);
    IF candidate.caller IS NOT NULL THEN
      of_callers := of_callers || jsonb_build_object(candidate.caller, of_caller + 1);
    END IF;
    UPDATE agentplane.runs r SET status = 'running', attempt = r.attempt + 1, server_id = server,
      heartbeat_at = clock_timestamp(), started_at = COALESCE(r.started_at, clock_timestamp()),
      lease_until = clock_timestamp() + lease_ms * interval '1 millisecond', updated_at = clock_timestamp()
      WHERE r.run_id = candidate.run_id RETURNING r.* INTO claimed;
    taken := taken + 1;
    RETURN NEXT claimed;
  END LOOP;
END $$;
`;

/**
 * The end of a run on a thread, refused when a newer attempt has it. One that is rolled back leaves nothing
 * behind; a requested rollback also counts when the run ended just before it learned of the request.
 */
export const FINISH_RUN = `
CREATE FUNCTION agentplane.finish_run(
  the_run uuid, the_attempt int, of_thread uuid, end_status text, end_error json, is_rollback boolean,
  end_values json, end_interrupts json, thread_status text
) RETURNS TABLE (accepted boolean, has_next boolean) LANGUAGE plpgsql AS $$
DECLARE
  more boolean;
  leaves_no_trace boolean;
BEGIN
  PERFORM 1 FROM agentplane.threads WHERE thread_id = of_thread FOR UPDATE;
  SELECT is_rollback OR r.cancel IS NOT DISTINCT FROM 'rollback' INTO leaves_no_trace
    FROM agentplane.runs r WHERE r.run_id = the_run;
  UPDATE agentplane.runs r SET status = end_status, error = end_error, lease_until = NULL,
    ended_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE r.run_id = the_run AND r.attempt = the_attempt AND r.status = 'running';
  IF NOT FOUND THEN RETURN QUERY SELECT false, false; RETURN; END IF;
  IF leaves_no_trace THEN
    DELETE FROM agentplane.checkpoint_writes w USING agentplane.checkpoints c
      WHERE c.thread_id = of_thread::text AND c.metadata ->> 'run_id' = the_run::text
      AND w.thread_id = c.thread_id AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id;
    -- A run that went on from a checkpoint of another wrote to that one first.
    DELETE FROM agentplane.checkpoint_writes w WHERE w.thread_id = of_thread::text AND w.run_id = the_run;
    DELETE FROM agentplane.checkpoint_blobs b WHERE b.thread_id = of_thread::text AND b.run_id = the_run;
    DELETE FROM agentplane.checkpoints c
      WHERE c.thread_id = of_thread::text AND c.metadata ->> 'run_id' = the_run::text;
    DELETE FROM agentplane.runs r WHERE r.run_id = the_run;
  END IF;
  more := EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.thread_id = of_thread AND r.status = 'pending');
  UPDATE agentplane.threads t SET
    status = CASE WHEN more THEN 'busy' WHEN leaves_no_trace THEN t.resting_status ELSE thread_status END,
    resting_status = CASE WHEN leaves_no_trace THEN t.resting_status ELSE thread_status END,
    values = CASE WHEN leaves_no_trace THEN t.values ELSE COALESCE(end_values, t.values) END,
    interrupts = CASE WHEN leaves_no_trace THEN t.interrupts ELSE COALESCE(end_interrupts, '{}'::json) END,
    error = CASE WHEN leaves_no_trace THEN t.error ELSE end_error END,
    updated_at = clock_timestamp(), state_updated_at = clock_timestamp()
    WHERE t.thread_id = of_thread;
  RETURN QUERY SELECT true, more;
END $$;
`;

/**
 * Ends runs on several threads at once. It waits for no other transaction: runs whose threads or rows are held are left
 * out, as are those to be rolled back, and missing from the answer; `finish_run` ends them one by one. So two such
 * statements cannot wait for one another.
 *
 * Each step finds rows by their keys, and the plans are kept, as making them costs as much as the steps: those made while
 * the tables are small must not read whole tables later.
 */
export const FINISH_RUNS = `
CREATE OR REPLACE FUNCTION agentplane.finish_runs(
  the_runs uuid[], attempts int[], of_threads uuid[], end_statuses text[], end_errors text[], end_values text[],
  end_interrupts text[], thread_statuses text[]
) RETURNS TABLE (ended_run uuid, accepted boolean, has_next boolean) LANGUAGE plpgsql
SET plan_cache_mode TO force_generic_plan SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off AS $$
DECLARE
  held_threads uuid[];
  held_runs uuid[];
BEGIN
  SELECT array_agg(h.thread_id) INTO held_threads FROM (
    SELECT t.thread_id FROM agentplane.threads t WHERE t.thread_id = ANY (of_threads)
    ORDER BY t.thread_id FOR UPDATE SKIP LOCKED) h;
  SELECT array_agg(h.run_id) INTO held_runs FROM (
    SELECT r.run_id FROM agentplane.runs r
    WHERE r.run_id = ANY (the_runs) AND r.thread_id = ANY (held_threads) AND r.cancel IS DISTINCT FROM 'rollback'
    ORDER BY r.run_id FOR UPDATE SKIP LOCKED) h;
  RETURN QUERY WITH ends AS (
    SELECT * FROM unnest(the_runs, attempts, of_threads, end_statuses, end_errors, end_values, end_interrupts,
      thread_statuses) AS e(run_id, attempt, thread_id, status, error, values, interrupts, thread_status)
    WHERE e.run_id = ANY (held_runs)),
  ended AS (
    UPDATE agentplane.runs r SET status = e.status, error = e.error::json, lease_until = NULL,
      ended_at = clock_timestamp(), updated_at = clock_timestamp()
    FROM ends e WHERE r.run_id = e.run_id AND r.attempt = e.attempt AND r.status = 'running' RETURNING r.run_id),
  rested AS (
    UPDATE agentplane.threads t SET
      status = CASE WHEN EXISTS (
        SELECT 1 FROM agentplane.runs r WHERE r.thread_id = e.thread_id AND r.status = 'pending'
      ) THEN 'busy' ELSE e.thread_status END,
      resting_status = e.thread_status, values = COALESCE(e.values::json, t.values),
      interrupts = COALESCE(e.interrupts::json, '{}'::json), error = e.error::json,
      updated_at = clock_timestamp(), state_updated_at = clock_timestamp()
    FROM ends e JOIN ended USING (run_id) WHERE t.thread_id = e.thread_id
    RETURNING e.run_id, t.status = 'busy' AS has_next)
  SELECT e.run_id, r.run_id IS NOT NULL, COALESCE(r.has_next, false) FROM ends e LEFT JOIN rested r USING (run_id);
END $$;
`;
