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
