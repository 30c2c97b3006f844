import { claimable } from '../row/claimable.js';
import { CALLER_OF_RUN } from '../row/caller-of-run.js';

/** Any constant beside the others of this schema: one server at a time counts and claims. */
const CLAIM_LOCK = 4_172_002;

/**
 * Takes runs that are due, oldest first, as far as the limits of runs at work allow (0: no limit). A run that a limit
 * holds back lets those of other assistants and callers pass.
 *
 * Each run that waits is looked at: by the index of its thread, whatever the statistics say, which are a minute old. With
 * those of a time when most runs waited on one thread, Postgres read the whole table for each run.
 */
export const CLAIM_LIMITED_RUNS = `
CREATE OR REPLACE FUNCTION agentplane.claim_limited_runs(
  max_runs int, server uuid, lease_ms int, graphs text[], per_assistant int, per_caller int
) RETURNS SETOF agentplane.runs LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  candidate record;
  claimed agentplane.runs;
  taken int := 0;
  full_assistants uuid[] := '{}';
  full_callers text[] := '{}';
BEGIN
  PERFORM pg_advisory_xact_lock(${CLAIM_LOCK});
  FOR candidate IN SELECT r.run_id, r.assistant_id,
      CASE WHEN per_caller > 0 THEN ${CALLER_OF_RUN} END AS caller
    FROM agentplane.runs r WHERE ${claimable('graphs')} ORDER BY r.ordinal FOR UPDATE SKIP LOCKED
  LOOP
    EXIT WHEN taken >= max_runs;
    CONTINUE WHEN candidate.assistant_id = ANY (full_assistants) OR candidate.caller = ANY (full_callers);
    IF per_assistant > 0 AND (SELECT count(*) FROM agentplane.runs r
      WHERE r.status = 'running' AND r.assistant_id = candidate.assistant_id) >= per_assistant THEN
      full_assistants := full_assistants || candidate.assistant_id;
      CONTINUE;
    END IF;
    IF candidate.caller IS NOT NULL AND (SELECT count(*) FROM agentplane.runs r
      WHERE r.status = 'running' AND ${CALLER_OF_RUN} = candidate.caller) >= per_caller THEN
      full_callers := full_callers || candidate.caller;
      CONTINUE;
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
