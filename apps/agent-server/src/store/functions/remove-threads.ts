/**
 * Most checkpoints or runs of a thread in a batch: a larger one takes a while, goes alone and does not delay
 * the others.
 */
const MOST_OF_ONE = 100;

/** Likewise of writes of its checkpoints, and of blobs. */
const MOST_PARTS_OF_ONE = 500;

/**
 * Removes threads with all that belongs to them. It waits for no other transaction: threads that are held,
 * missing or not visible are left out, as are large ones, and missing from the answer; `remove_thread`
 * removes them one by one, or returns the reason. Runs go first: a write of a running one waits and is then
 * fenced.
 */
export const REMOVE_THREADS = `
CREATE OR REPLACE FUNCTION agentplane.remove_threads(the_threads uuid[], visible_to text[])
RETURNS TABLE (removed uuid) LANGUAGE plpgsql
SET plan_cache_mode TO force_generic_plan SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off AS $$
DECLARE
  held uuid[];
  used uuid[];
  named text[];
  runs uuid[];
BEGIN
  SELECT array_agg(h.thread_id) INTO held FROM (
    SELECT t.thread_id FROM unnest(the_threads, visible_to) AS n(thread_id, visible)
      JOIN agentplane.threads t ON t.thread_id = n.thread_id
    WHERE n.visible IS NULL
      OR EXISTS (SELECT 1 FROM jsonb_array_elements(n.visible::jsonb) AS a(document) WHERE t.metadata @> a.document)
    ORDER BY t.thread_id FOR UPDATE OF t SKIP LOCKED) h;
  IF held IS NULL THEN RETURN; END IF;
  -- by a look of its own, which sees what was committed before the locks; many threads were never used
  SELECT array_agg(h.thread_id), array_agg(h.thread_id::text) INTO used, named FROM unnest(held) AS h(thread_id)
    WHERE EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.thread_id = h.thread_id)
      OR EXISTS (SELECT 1 FROM agentplane.webhooks w WHERE w.thread_id = h.thread_id)
      OR EXISTS (SELECT 1 FROM agentplane.crons c WHERE c.thread_id = h.thread_id)
      OR EXISTS (SELECT 1 FROM agentplane.checkpoints c WHERE c.thread_id = h.thread_id::text)
      OR EXISTS (SELECT 1 FROM agentplane.checkpoint_blobs b WHERE b.thread_id = h.thread_id::text)
      OR EXISTS (SELECT 1 FROM agentplane.checkpoint_writes w WHERE w.thread_id = h.thread_id::text);
  IF used IS NOT NULL THEN
    SELECT array_agg(h.run_id) INTO runs FROM (
      SELECT r.run_id FROM agentplane.runs r WHERE r.thread_id = ANY (used) ORDER BY r.run_id FOR UPDATE SKIP LOCKED) h;
    -- a large thread goes alone, and so does one with a run that another statement holds
    SELECT array_agg(h.thread_id) INTO held FROM unnest(held) AS h(thread_id)
      WHERE h.thread_id <> ALL (used)
        OR (NOT EXISTS (
            SELECT 1 FROM agentplane.runs r WHERE r.thread_id = h.thread_id AND r.run_id <> ALL (COALESCE(runs, '{}')))
          AND NOT EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.thread_id = h.thread_id OFFSET ${MOST_OF_ONE})
          AND NOT EXISTS (
            SELECT 1 FROM agentplane.checkpoints c WHERE c.thread_id = h.thread_id::text OFFSET ${MOST_OF_ONE})
          AND NOT EXISTS (
            SELECT 1 FROM agentplane.checkpoint_writes w WHERE w.thread_id = h.thread_id::text OFFSET ${MOST_PARTS_OF_ONE})
          AND NOT EXISTS (
            SELECT 1 FROM agentplane.checkpoint_blobs b WHERE b.thread_id = h.thread_id::text OFFSET ${MOST_PARTS_OF_ONE}));
    IF held IS NULL THEN RETURN; END IF;
    SELECT array_agg(h.thread_id), array_agg(h.thread_id::text) INTO used, named FROM unnest(used) AS h(thread_id)
      WHERE h.thread_id = ANY (held);
    DELETE FROM agentplane.run_events e USING agentplane.runs r
      WHERE r.thread_id = ANY (used) AND e.run_id = r.run_id;
    DELETE FROM agentplane.runs r WHERE r.thread_id = ANY (used);
    DELETE FROM agentplane.webhooks w WHERE w.thread_id = ANY (used);
    DELETE FROM agentplane.crons c WHERE c.thread_id = ANY (used);
    DELETE FROM agentplane.checkpoints c WHERE c.thread_id = ANY (named);
    DELETE FROM agentplane.checkpoint_blobs b WHERE b.thread_id = ANY (named);
    DELETE FROM agentplane.checkpoint_writes w WHERE w.thread_id = ANY (named);
  END IF;
  DELETE FROM agentplane.threads t WHERE t.thread_id = ANY (held);
  RETURN QUERY SELECT unnest(held);
END $$;
`;
