import { THREAD_TEXT } from '../row/thread-text.js';

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
      + pg_column_size(t.interrupts) + coalesce(pg_column_size(t.error), 0) <= ${MOST_BYTES} THEN ${THREAD_TEXT} END
    FROM unnest(the_threads, visible_to) WITH ORDINALITY AS n(thread_id, visible, place)
      JOIN agentplane.threads t ON t.thread_id = n.thread_id
    WHERE n.visible IS NULL
      OR EXISTS (SELECT 1 FROM jsonb_array_elements(n.visible::jsonb) AS a(document) WHERE t.metadata @> a.document);
END $$;
`;
