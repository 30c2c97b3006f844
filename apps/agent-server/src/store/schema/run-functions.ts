import { CHANNEL } from '../channel.js';
import { claimable } from '../row/claimed-run.js';
import { CALLER_OF_CLAIMED, CALLER_OF_RUN, OUTLINE, OWNER, OWNER_BITS } from '../row/run-row.js';

/**
 * Cancels a run. A waiting run ends at once, and its webhook is due; a running one is asked to end, by its
 * row and a notification. A newer migration performs this text again, over the function of an older one.
 */
export const CANCEL_RUN = `
CREATE OR REPLACE FUNCTION agentplane.cancel_run(
  visible jsonb[], the_run uuid, of_thread uuid, action text, reason text DEFAULT NULL
)
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
      cancel_reason = coalesce(cancel_reason, reason), updated_at = clock_timestamp() WHERE run_id = the_run;
    PERFORM pg_notify('${CHANNEL}', 'cancel:' || the_run);
    RETURN QUERY SELECT 'asked'::text; RETURN;
  END IF;
  IF found_status <> 'pending' THEN RETURN QUERY SELECT 'ended'::text; RETURN; END IF;
  UPDATE agentplane.runs SET cancel_reason = reason WHERE run_id = the_run;
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

/** Reasons for which runs were cancelled. Servers of an earlier version give none. */
export const CANCEL_REASONS = `
ALTER TABLE agentplane.runs ADD COLUMN cancel_reason text;
DROP FUNCTION IF EXISTS agentplane.cancel_run(jsonb[], uuid, uuid, text);
`;

/** Any constant beside the others of this schema: one server at a time counts and claims. */
const CLAIM_LOCK = 4_172_002;

/** Limit of owners that one claim looks at. With more of them claims begin at random ones, so that all get their turn. */
const MAX_OWNERS = 100;
/** Priorities from -5 to 5. */
const LEVELS = 11;
/** Distance of the owners of one priority from those of the next. */
const LEVEL_SIZE = 2n ** BigInt(OWNER_BITS);
/** More runs than an owner has at work: an owner of an urgent priority is before all others. */
const MAX_AT_WORK = 1_000_000;
/** Every so many claims leave priorities aside, so that the least urgent runs go on. */
const UNRANKED_EVERY = 10;

/** Runs that wait, by owner; `runs_pending` remains for servers of an earlier version. */
export const RUNS_BY_OWNER = `
CREATE INDEX runs_pending_by_owner ON agentplane.runs ((${OWNER}), ordinal) WHERE status = 'pending';
`;

/** Priorities of runs, which a thread keeps from its first run. The owner of a run says its priority too from here on. */
export const RUN_PRIORITIES = `
ALTER TABLE agentplane.threads ADD COLUMN priority jsonb;
CREATE SEQUENCE agentplane.ranked_claims;
DROP INDEX IF EXISTS agentplane.runs_pending_by_owner;
${RUNS_BY_OWNER}
`;

/**
 * Takes runs that are due, as far as the limits of runs at work allow (0: no limit). The most urgent priority is first.
 * Within it owners take turns: the one with the fewest runs at work is next, and its oldest run begins. A run that a limit
 * holds back lets others pass. While runs of several priorities wait, every tenth claim gives turns to the owners of all
 * priorities alike.
 *
 * Each run that waits is looked up by the index of its owner, and of its thread, whatever the statistics say, which are a
 * minute old: with those of a time when most runs waited on one thread, Postgres read the whole table for each run. Hence
 * the comparisons of whole rows, which no other index can answer in order. Plans are kept: making one takes longer than a claim.
 */
export const CLAIM_LIMITED_RUNS = `
CREATE OR REPLACE FUNCTION agentplane.claim_limited_runs(
  max_runs int, server uuid, lease_ms int, graphs text[], per_assistant int, per_caller int
) RETURNS SETOF agentplane.runs LANGUAGE plpgsql
SET plan_cache_mode TO force_generic_plan SET enable_seqscan TO off SET enable_bitmapscan TO off SET enable_sort TO off AS $$
DECLARE
  -- of owners that wait, in the order of their oldest runs
  owners bigint[] := '{}';
  -- their runs at work; null: none of their runs can begin
  at_work int[];
  -- where the search for their next run continues
  places bigint[] := '{}';
  -- the place in its priority at which the search for owners begins
  first_owner bigint := hashtextextended(gen_random_uuid()::text, 0) & ${LEVEL_SIZE - 1n};
  last_owner bigint;
  is_wrapped boolean;
  -- the lowest owner of a priority, and the priorities that wait
  level bigint;
  next_level bigint := ${-(2n ** 63n)};
  last_level bigint;
  is_ranked boolean := true;
  most_owners int := ${MAX_OWNERS};
  -- runs at work by assistant, and assistants at their limit
  of_assistants jsonb := '{}';
  full_assistants uuid[] := '{}';
  of_assistant int;
  -- the same of callers
  of_callers jsonb := '{}';
  full_callers text[] := '{}';
  of_caller int;
  waiting record;
  claimed agentplane.runs;
  nth int;
  next_at_work int;
  wanted int;
  found_runs int;
  taken int := 0;
BEGIN
  IF per_assistant > 0 OR per_caller > 0 THEN PERFORM pg_advisory_xact_lock(${CLAIM_LOCK}); END IF;
  SELECT (${OWNER} >> ${OWNER_BITS}) << ${OWNER_BITS} INTO last_level FROM agentplane.runs r
    WHERE r.status = 'pending' ORDER BY ${OWNER} DESC, r.ordinal DESC LIMIT 1;
  IF last_level IS NULL THEN RETURN; END IF;
  WHILE next_level <= last_level AND cardinality(owners) < ${MAX_OWNERS} LOOP
    SELECT (${OWNER} >> ${OWNER_BITS}) << ${OWNER_BITS} INTO level FROM agentplane.runs r
      WHERE r.status = 'pending' AND ${OWNER} >= next_level ORDER BY ${OWNER}, r.ordinal LIMIT 1;
    EXIT WHEN level IS NULL;
    IF cardinality(owners) = 0 AND level < last_level THEN
      is_ranked := nextval('agentplane.ranked_claims') % ${UNRANKED_EVERY} <> 0;
    END IF;
    IF NOT is_ranked THEN most_owners := cardinality(owners) + ${Math.floor(MAX_OWNERS / LEVELS)}; END IF;
    next_level := level + ${LEVEL_SIZE};
    last_owner := level + first_owner;
    is_wrapped := false;
    WHILE cardinality(owners) < most_owners LOOP
      SELECT ${OWNER} AS owner, r.ordinal INTO waiting FROM agentplane.runs r
        WHERE r.status = 'pending' AND ${OWNER} > last_owner AND ${OWNER} < next_level
        ORDER BY ${OWNER}, r.ordinal LIMIT 1;
      IF waiting.owner IS NULL OR is_wrapped AND waiting.owner > level + first_owner THEN
        EXIT WHEN is_wrapped;
        is_wrapped := true;
        last_owner := level - 1;
      ELSE
        owners := owners || waiting.owner;
        places := places || waiting.ordinal - 1;
        last_owner := waiting.owner;
      END IF;
    END LOOP;
  END LOOP;
  IF cardinality(owners) = 0 THEN RETURN; END IF;
  SELECT array_agg(w.owner ORDER BY w.place), array_agg(w.place ORDER BY w.place),
      array_agg(coalesce(c.runs, 0) + CASE WHEN is_ranked THEN ((w.owner >> ${OWNER_BITS})::int + 5) * ${MAX_AT_WORK} ELSE 0 END
        ORDER BY w.place) INTO owners, places, at_work
    FROM unnest(owners, places) AS w(owner, place) LEFT JOIN (
      SELECT ${OWNER} AS owner, count(*)::int AS runs FROM agentplane.runs r
      WHERE r.status = 'running' AND cardinality(owners) > 1 GROUP BY 1) c ON c.owner = w.owner;
  SELECT coalesce(jsonb_object_agg(c.name, c.runs), '{}'),
      coalesce(array_agg(c.name) FILTER (WHERE c.runs >= per_assistant), '{}') INTO of_assistants, full_assistants
    FROM (SELECT r.assistant_id AS name, count(*)::int AS runs FROM agentplane.runs r
      WHERE per_assistant > 0 AND r.status = 'running' GROUP BY 1) c;
  SELECT coalesce(jsonb_object_agg(c.name, c.runs), '{}'),
      coalesce(array_agg(c.name) FILTER (WHERE c.runs >= per_caller), '{}') INTO of_callers, full_callers
    FROM (SELECT ${CALLER_OF_RUN} AS name, count(*)::int AS runs FROM agentplane.runs r
      WHERE per_caller > 0 AND r.status = 'running' AND ${CALLER_OF_RUN} IS NOT NULL GROUP BY 1) c;
  WHILE taken < max_runs LOOP
    SELECT w.nth, lead(w.runs) OVER (ORDER BY w.runs, w.nth) INTO nth, next_at_work
      FROM unnest(at_work) WITH ORDINALITY AS w(runs, nth)
      WHERE w.runs IS NOT NULL ORDER BY w.runs, w.nth LIMIT 1;
    EXIT WHEN nth IS NULL;
    -- until another owner is next
    wanted := CASE WHEN per_assistant > 0 OR per_caller > 0 THEN 1
      ELSE least(max_runs - taken, greatest(coalesce(next_at_work, at_work[nth] + max_runs) - at_work[nth], 1)) END;
    found_runs := 0;
    FOR claimed IN UPDATE agentplane.runs n SET status = 'running', attempt = n.attempt + 1, server_id = server,
      heartbeat_at = clock_timestamp(), started_at = COALESCE(n.started_at, clock_timestamp()),
      lease_until = clock_timestamp() + lease_ms * interval '1 millisecond', updated_at = clock_timestamp()
      WHERE n.run_id = ANY (ARRAY(
        SELECT r.run_id FROM agentplane.runs r
        WHERE (${OWNER}, r.ordinal) > (owners[nth], places[nth]) AND ${OWNER} <= owners[nth]
          AND (per_caller = 0 OR ${CALLER_OF_RUN} IS NULL OR ${CALLER_OF_RUN} <> ALL (full_callers))
          AND r.assistant_id <> ALL (full_assistants) AND ${claimable('graphs')}
        ORDER BY ${OWNER}, r.ordinal LIMIT wanted FOR UPDATE SKIP LOCKED))
      RETURNING n.*
    LOOP
      found_runs := found_runs + 1;
      places[nth] := greatest(places[nth], claimed.ordinal);
      IF per_assistant > 0 THEN
        of_assistant := coalesce((of_assistants ->> claimed.assistant_id::text)::int, 0) + 1;
        of_assistants := of_assistants || jsonb_build_object(claimed.assistant_id, of_assistant);
        IF of_assistant >= per_assistant THEN full_assistants := full_assistants || claimed.assistant_id; END IF;
      END IF;
      IF per_caller > 0 AND ${CALLER_OF_CLAIMED} IS NOT NULL THEN
        of_caller := coalesce((of_callers ->> (${CALLER_OF_CLAIMED}))::int, 0) + 1;
        of_callers := of_callers || jsonb_build_object(${CALLER_OF_CLAIMED}, of_caller);
        IF of_caller >= per_caller THEN full_callers := full_callers || (${CALLER_OF_CLAIMED}); END IF;
      END IF;
      RETURN NEXT claimed;
    END LOOP;
    taken := taken + found_runs;
    at_work[nth] := CASE WHEN found_runs = wanted THEN at_work[nth] + found_runs END;
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
