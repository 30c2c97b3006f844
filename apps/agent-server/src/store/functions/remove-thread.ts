/**
 * Removes a thread with all that belongs to it, in one round trip; answers true when there was one.
 * Statements inside a function each see all commits before them: after the lock, also runs that were made in
 * the meantime. Runs go first: a write of a running one waits and is then fenced.
 */
export const REMOVE_THREAD = `
CREATE OR REPLACE FUNCTION agentplane.remove_thread(visible jsonb[], the_thread uuid)
RETURNS TABLE (removed boolean) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM agentplane.threads t WHERE t.thread_id = the_thread AND t.metadata @> ANY (visible) FOR UPDATE;
  IF NOT FOUND THEN RETURN QUERY SELECT false; RETURN; END IF;
  DELETE FROM agentplane.run_events e USING agentplane.runs r
    WHERE r.thread_id = the_thread AND e.run_id = r.run_id;
  DELETE FROM agentplane.runs r WHERE r.thread_id = the_thread;
  DELETE FROM agentplane.webhooks w WHERE w.thread_id = the_thread;
  DELETE FROM agentplane.crons c WHERE c.thread_id = the_thread;
  DELETE FROM agentplane.checkpoints c WHERE c.thread_id = the_thread::text;
  DELETE FROM agentplane.checkpoint_blobs b WHERE b.thread_id = the_thread::text;
  DELETE FROM agentplane.checkpoint_writes w WHERE w.thread_id = the_thread::text;
  DELETE FROM agentplane.threads t WHERE t.thread_id = the_thread;
  RETURN QUERY SELECT true;
END $$;
`;
