import { claimable } from '../row/claimable.js';
import { CALLER_OF_RUN } from '../row/run-outline.js';

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
