import { THREAD_JSON } from '../row/thread-row.js';

/**
 * Creates threads of several callers, each under its own scope; those outside of it are missing from the
 * answer. A function, since it keeps its plan: with the arrays at hand Postgres would make a new one for each
 * call.
 */
export const CREATE_THREADS = `
CREATE OR REPLACE FUNCTION agentplane.create_threads(the_threads uuid[], the_metadata text[], visible_to text[])
RETURNS TABLE (created uuid, thread text) LANGUAGE plpgsql SET plan_cache_mode TO force_generic_plan AS $$
BEGIN
  RETURN QUERY INSERT INTO agentplane.threads AS t (thread_id, metadata)
    SELECT n.thread_id, n.metadata::jsonb
    FROM unnest(the_threads, the_metadata, visible_to) AS n(thread_id, metadata, visible)
    WHERE n.visible IS NULL
      OR EXISTS (SELECT 1 FROM jsonb_array_elements(n.visible::jsonb) AS a(document) WHERE n.metadata::jsonb @> a.document)
    ON CONFLICT DO NOTHING RETURNING t.thread_id, ${THREAD_JSON};
END $$;

-- without a default nothing is to be written: to learn that by an INSERT of no row takes three times as long
CREATE OR REPLACE FUNCTION agentplane.give_default_ttl() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM agentplane.thread_ttl_default) THEN RETURN NULL; END IF;
  INSERT INTO agentplane.thread_ttls (thread_id, strategy, minutes, check_at)
    SELECT NEW.thread_id, d.strategy, d.minutes, clock_timestamp() + d.minutes * interval '1 minute'
    FROM agentplane.thread_ttl_default d ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
`;

/**
 * A larger thread is read alone, and does not delay the others. The size is the stored one: nothing is
 * decompressed to learn it.
 */
const MOST_BYTES = 32 * 1024;

/**
 * Threads of several callers, each under its own scope, by the positions at which they are requested. Missing
 * and invisible threads are missing from the answer; a large one comes without its text.
 */
export const READ_THREADS = `
CREATE OR REPLACE FUNCTION agentplane.read_threads(the_threads uuid[], visible_to text[])
RETURNS TABLE (place bigint, thread text) LANGUAGE plpgsql STABLE
SET plan_cache_mode TO force_generic_plan SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off AS $$
BEGIN
  RETURN QUERY SELECT n.place, CASE WHEN pg_column_size(t.metadata) + coalesce(pg_column_size(t.values), 0)
      + pg_column_size(t.interrupts) + coalesce(pg_column_size(t.error), 0) <= ${MOST_BYTES} THEN ${THREAD_JSON} END
    FROM unnest(the_threads, visible_to) WITH ORDINALITY AS n(thread_id, visible, place)
      JOIN agentplane.threads t ON t.thread_id = n.thread_id
    WHERE n.visible IS NULL
      OR EXISTS (SELECT 1 FROM jsonb_array_elements(n.visible::jsonb) AS a(document) WHERE t.metadata @> a.document);
END $$;
`;

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

/** json may hold text that jsonb refuses: for searching, it is left out. A newer migration performs this text again. */
export const SEARCHABLE = `
CREATE OR REPLACE FUNCTION agentplane.searchable(value json) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN value::jsonb;
EXCEPTION WHEN data_exception THEN
  BEGIN
    RETURN regexp_replace(value::text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|d[89a-f][0-9a-f][0-9a-f])', '\\1', 'g')::jsonb;
  EXCEPTION WHEN data_exception THEN
    RETURN NULL;
  END;
END $$;
`;
