import { CHANNEL } from '../channel.js';
import { MAX_WAITING_ON_THREAD } from './submit-run.js';

/**
 * Makes runs on several threads at once, one on each. It waits for no other transaction: runs whose threads
 * are held, missing or not visible are left out, as are those whose threads have active runs and that are not
 * simply queued behind them, and missing from the answer; `submit_run` makes them one by one, or returns the
 * reason. So two such statements cannot wait for one another.
 *
 * A thread without any checkpoint is reported as empty: the server that begins the run need not look for its
 * state.
 *
 * Each step finds rows by their keys, and the plans are kept, as making them costs as much as the steps:
 * those made while the tables are small must not read whole tables later.
 */
export const SUBMIT_RUNS = `
CREATE OR REPLACE FUNCTION agentplane.submit_runs(
  new_runs uuid[], on_threads uuid[], visible_to text[], by_assistants uuid[], of_graphs text[], with_metadata text[],
  with_kwargs text[], with_outlines text[], strategies text[], delays_ms bigint[], starts_here boolean[], watchers uuid[],
  starter uuid, lease_ms int
) RETURNS TABLE (new_run uuid, new_status text, made_at timestamptz, is_empty boolean) LANGUAGE plpgsql
SET plan_cache_mode TO force_generic_plan SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off AS $$
DECLARE
  held uuid[];
  moment timestamptz;
BEGIN
  SELECT array_agg(h.thread_id) INTO held FROM (
    SELECT t.thread_id FROM unnest(on_threads, visible_to) AS n(thread_id, visible)
      JOIN agentplane.threads t ON t.thread_id = n.thread_id
    WHERE n.visible IS NULL
      OR EXISTS (SELECT 1 FROM jsonb_array_elements(n.visible::jsonb) AS a(document) WHERE t.metadata @> a.document)
    ORDER BY t.thread_id FOR UPDATE OF t SKIP LOCKED) h;
  moment := clock_timestamp();
  RETURN QUERY WITH asked AS (
    SELECT n.*, n.starts AND n.delay_ms = 0 AS is_due_here, o.active, o.in_the_way
    FROM unnest(new_runs, on_threads, by_assistants, of_graphs, with_metadata, with_kwargs, with_outlines, strategies, delays_ms,
        starts_here, watchers) WITH ORDINALITY
      AS n(run_id, thread_id, assistant_id, graph_id, metadata, kwargs, outline, strategy, delay_ms, starts, watcher, nth)
    CROSS JOIN LATERAL (
      SELECT count(*) AS active,
        count(*) FILTER (WHERE r.status = 'running' OR r.start_after <= moment) AS in_the_way
      FROM agentplane.runs r WHERE r.thread_id = n.thread_id AND r.status IN ('pending', 'running')) o
    WHERE n.thread_id = ANY (held)),
  -- a run that would begin beside a delayed one goes alone: another server may take that one at this moment
  taken AS (
    SELECT a.*, CASE WHEN a.active = 0 AND a.is_due_here THEN 'running' ELSE 'pending' END AS first_status FROM asked a
    WHERE a.active = 0 OR a.strategy = 'enqueue' AND a.active < ${MAX_WAITING_ON_THREAD}
      AND NOT (a.is_due_here AND a.in_the_way = 0)),
  counted AS (
    UPDATE agentplane.threads t SET status = 'busy', runs_made = t.runs_made + 1, updated_at = moment,
      resting_status = CASE t.status WHEN 'busy' THEN t.resting_status ELSE t.status END, metadata = t.metadata
      || jsonb_build_object('graph_id', n.graph_id, 'assistant_id', n.assistant_id)
    FROM taken n WHERE t.thread_id = n.thread_id RETURNING t.thread_id, t.runs_made),
  made AS (
    INSERT INTO agentplane.runs AS r (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy,
      metadata, kwargs, created_at, updated_at, start_after, attempt, server_id, lease_until, heartbeat_at, started_at,
      watchers, place, outline)
    SELECT n.run_id, n.thread_id, false, n.assistant_id, n.graph_id, n.first_status, n.strategy, n.metadata::jsonb,
      n.kwargs::json, moment, moment, moment + n.delay_ms * interval '1 millisecond',
      CASE n.first_status WHEN 'running' THEN 1 ELSE 0 END,
      CASE n.first_status WHEN 'running' THEN starter END,
      CASE n.first_status WHEN 'running' THEN moment + lease_ms * interval '1 millisecond' END,
      CASE n.first_status WHEN 'running' THEN moment END,
      CASE n.first_status WHEN 'running' THEN moment END,
      CASE WHEN n.watcher IS NULL THEN '{}'::uuid[] ELSE ARRAY[n.watcher] END,
      c.runs_made, n.outline::jsonb
    FROM taken n JOIN counted c ON c.thread_id = n.thread_id ORDER BY n.nth
    RETURNING r.run_id, r.thread_id, r.status)
  SELECT m.run_id, m.status, moment,
    NOT EXISTS (SELECT 1 FROM agentplane.checkpoints c WHERE c.thread_id = m.thread_id::text) FROM made m;
  IF EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.run_id = ANY (new_runs) AND r.status = 'pending')
    THEN PERFORM pg_notify('${CHANNEL}', 'pending:'); END IF;
END $$;
`;
