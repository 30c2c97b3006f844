import { CHANNEL } from '../channel.js';

/** Limit of runs that wait on one thread: each claim reads past those that are not the first. */
export const MAX_WAITING_ON_THREAD = 10_000;

/**
 * Makes a run. Lock order everywhere: the thread, then its runs. Statements inside a function each see all
 * commits before them, so that after the lock the runs of the thread are read correctly.
 */
export const SUBMIT_RUN = `
CREATE OR REPLACE FUNCTION agentplane.submit_run(
  visible jsonb[], new_run uuid, on_thread uuid, by_assistant uuid, of_graph text, with_metadata jsonb, with_kwargs json,
  strategy text, delay_ms bigint, starter uuid, lease_ms int, watcher uuid, create_thread boolean,
  thread_metadata jsonb, with_outline jsonb
) RETURNS TABLE (outcome text, new_status text, made_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  others int;
  in_the_way int;
  victim record;
  first_status text;
  place_on_thread bigint;
  moment timestamptz;
BEGIN
  IF create_thread THEN
    INSERT INTO agentplane.threads (thread_id, metadata)
      SELECT on_thread, thread_metadata WHERE thread_metadata @> ANY (visible) ON CONFLICT DO NOTHING;
  END IF;
  PERFORM 1 FROM agentplane.threads t WHERE t.thread_id = on_thread AND t.metadata @> ANY (visible) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT CASE WHEN create_thread AND NOT thread_metadata @> ANY (visible)
      THEN 'forbidden' ELSE 'no_thread' END, NULL::text, NULL::timestamptz;
    RETURN;
  END IF;
  moment := clock_timestamp();
  SELECT count(*), count(*) FILTER (WHERE r.status = 'running' OR r.start_after <= moment)
    INTO others, in_the_way
    FROM agentplane.runs r WHERE r.thread_id = on_thread AND r.status IN ('pending', 'running');
  IF others > 0 AND strategy = 'reject' THEN
    RETURN QUERY SELECT 'busy'::text, NULL::text, NULL::timestamptz;
    RETURN;
  END IF;
  IF others >= ${MAX_WAITING_ON_THREAD} AND strategy = 'enqueue' THEN
    RETURN QUERY SELECT 'full'::text, NULL::text, NULL::timestamptz;
    RETURN;
  END IF;
  IF others > 0 AND strategy IN ('interrupt', 'rollback') THEN
    FOR victim IN SELECT r.run_id, r.status FROM agentplane.runs r
      WHERE r.thread_id = on_thread AND r.status IN ('pending', 'running')
    LOOP
      PERFORM agentplane.cancel_run(visible, victim.run_id, on_thread, strategy);
    END LOOP;
    SELECT count(*) INTO in_the_way FROM agentplane.runs r
      WHERE r.thread_id = on_thread AND r.status IN ('pending', 'running');
  END IF;
  first_status := CASE WHEN starter IS NOT NULL AND in_the_way = 0 AND delay_ms = 0 THEN 'running' ELSE 'pending' END;
  UPDATE agentplane.threads t SET status = 'busy', runs_made = t.runs_made + 1, updated_at = moment,
    resting_status = CASE t.status WHEN 'busy' THEN t.resting_status ELSE t.status END, metadata = t.metadata
    || jsonb_build_object('graph_id', of_graph, 'assistant_id', by_assistant)
    WHERE t.thread_id = on_thread RETURNING t.runs_made INTO place_on_thread;
  INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy,
    metadata, kwargs, created_at, updated_at, start_after, attempt, server_id, lease_until, heartbeat_at, started_at, watchers,
    place, outline)
  VALUES (new_run, on_thread, false, by_assistant, of_graph, first_status, strategy, with_metadata, with_kwargs,
    moment, moment, moment + delay_ms * interval '1 millisecond',
    CASE first_status WHEN 'running' THEN 1 ELSE 0 END,
    CASE first_status WHEN 'running' THEN starter END,
    CASE first_status WHEN 'running' THEN moment + lease_ms * interval '1 millisecond' END,
    CASE first_status WHEN 'running' THEN moment END,
    CASE first_status WHEN 'running' THEN moment END,
    CASE WHEN watcher IS NULL THEN '{}'::uuid[] ELSE ARRAY[watcher] END,
    place_on_thread, with_outline);
  IF first_status = 'pending' THEN PERFORM pg_notify('${CHANNEL}', 'pending:'); END IF;
  RETURN QUERY SELECT 'created'::text, first_status, moment;
END $$;

-- As servers of an earlier version call it, which run beside newer ones while a revision takes over.
CREATE OR REPLACE FUNCTION agentplane.submit_run(
  visible jsonb[], new_run uuid, on_thread uuid, by_assistant uuid, of_graph text, with_metadata jsonb, with_kwargs json,
  strategy text, delay_ms bigint, starter uuid, lease_ms int, watcher uuid, create_thread boolean,
  thread_metadata jsonb
) RETURNS TABLE (outcome text, new_status text, made_at timestamptz) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT CASE s.outcome WHEN 'full' THEN 'busy' ELSE s.outcome END, s.new_status, s.made_at
    FROM agentplane.submit_run(visible, new_run, on_thread, by_assistant, of_graph, with_metadata, with_kwargs, strategy,
      delay_ms, starter, lease_ms, watcher, create_thread, thread_metadata, NULL::jsonb) s;
END $$;
`;
