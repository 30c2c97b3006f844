import { THREAD_TEXT } from '../row/thread-text.js';

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
    ON CONFLICT DO NOTHING RETURNING t.thread_id, ${THREAD_TEXT};
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
