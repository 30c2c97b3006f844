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
