import type { Migration } from '#lib/postgres';

/** Schema of everything the server keeps, the checkpointer's own tables included. */
export const SCHEMA = 'agentplane';

/** Channel of every notification; payloads are `WORD:ID`. */
export const CHANNEL = 'agentplane';

const TABLES = `
CREATE TABLE agentplane.assistants (
  assistant_id uuid PRIMARY KEY,
  graph_id text NOT NULL,
  name text NOT NULL,
  description text,
  config jsonb NOT NULL DEFAULT '{}',
  context jsonb NOT NULL DEFAULT '{}',
  metadata jsonb NOT NULL DEFAULT '{}',
  -- a graph's own assistant: every caller may use it
  system boolean NOT NULL DEFAULT false,
  version int NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What graphs made is json, not jsonb: text may hold NUL characters, which jsonb refuses.
CREATE TABLE agentplane.threads (
  thread_id uuid PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state_updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  metadata jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'idle' CHECK (status IN ('idle', 'busy', 'interrupted', 'error')),
  -- what it had before its runs, for when they are rolled back
  resting_status text NOT NULL DEFAULT 'idle',
  config json NOT NULL DEFAULT '{}',
  values json,
  interrupts json NOT NULL DEFAULT '{}',
  error json
);
CREATE INDEX threads_by_metadata ON agentplane.threads USING gin (metadata jsonb_path_ops);
CREATE INDEX threads_by_creation ON agentplane.threads (created_at DESC);

-- A run without a thread of its own (temporary) has a thread_id that names no row, and goes away when it has ended.
CREATE TABLE agentplane.runs (
  run_id uuid PRIMARY KEY,
  ordinal bigint GENERATED ALWAYS AS IDENTITY,
  thread_id uuid NOT NULL,
  temporary boolean NOT NULL,
  assistant_id uuid NOT NULL,
  graph_id text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'running', 'success', 'error', 'timeout', 'interrupted')),
  multitask_strategy text NOT NULL,
  metadata jsonb NOT NULL,
  kwargs json NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  start_after timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  attempt int NOT NULL DEFAULT 0,
  takeovers int NOT NULL DEFAULT 0,
  server_id uuid,
  lease_until timestamptz,
  heartbeat_at timestamptz,
  cancel text CHECK (cancel IN ('interrupt', 'rollback')),
  watchers uuid[] NOT NULL DEFAULT '{}',
  error json
) WITH (fillfactor = 70);
CREATE INDEX runs_pending ON agentplane.runs (ordinal) WHERE status = 'pending';
CREATE INDEX runs_leased ON agentplane.runs (lease_until) WHERE status = 'running';
CREATE INDEX runs_by_thread ON agentplane.runs (thread_id, ordinal);
-- A thread may have thousands of runs that ended; who claims, submits or ends a run looks only at the others.
CREATE INDEX runs_active_by_thread ON agentplane.runs (thread_id, ordinal) WHERE status IN ('pending', 'running');
-- Whatever goes wrong elsewhere, a thread never has two runs at work.
CREATE UNIQUE INDEX runs_one_at_work ON agentplane.runs (thread_id) WHERE status = 'running';

-- Events of runs that another server's readers watch; losing them in a crash of the database loses live output only.
CREATE UNLOGGED TABLE agentplane.run_events (
  ordinal bigint GENERATED ALWAYS AS IDENTITY,
  run_id uuid NOT NULL,
  event text NOT NULL,
  data text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, ordinal)
);
CREATE INDEX run_events_by_age ON agentplane.run_events (created_at);

-- The checkpointer's tables: writes and values of a run's checkpoints carry its id, so that a rollback finds them.
ALTER TABLE agentplane.checkpoint_writes ADD COLUMN run_id uuid;
ALTER TABLE agentplane.checkpoint_blobs ADD COLUMN run_id uuid;
`;

/**
 * Lock order everywhere: the thread, then its runs. Statements inside a function each see what was committed before
 * them, so that after the lock the look at the thread's runs is true.
 */
const SUBMIT = `
CREATE FUNCTION agentplane.submit_run(
  visible jsonb[], new_run uuid, on_thread uuid, by_assistant uuid, of_graph text, with_metadata jsonb, with_kwargs json,
  strategy text, delay_ms bigint, starter uuid, lease_ms int, watcher uuid, create_thread boolean
) RETURNS TABLE (outcome text, new_status text, made_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  others int;
  in_the_way int;
  victim record;
  first_status text;
  moment timestamptz;
BEGIN
  IF create_thread THEN
    INSERT INTO agentplane.threads (thread_id) SELECT on_thread WHERE '{}'::jsonb @> ANY (visible)
      ON CONFLICT DO NOTHING;
  END IF;
  PERFORM 1 FROM agentplane.threads t WHERE t.thread_id = on_thread AND t.metadata @> ANY (visible) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT CASE WHEN create_thread AND NOT '{}'::jsonb @> ANY (visible) THEN 'forbidden' ELSE 'no_thread' END,
      NULL::text, NULL::timestamptz;
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
  INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy,
    metadata, kwargs, created_at, updated_at, start_after, attempt, server_id, lease_until, heartbeat_at, watchers)
  VALUES (new_run, on_thread, false, by_assistant, of_graph, first_status, strategy, with_metadata, with_kwargs,
    moment, moment, moment + delay_ms * interval '1 millisecond',
    CASE first_status WHEN 'running' THEN 1 ELSE 0 END,
    CASE first_status WHEN 'running' THEN starter END,
    CASE first_status WHEN 'running' THEN moment + lease_ms * interval '1 millisecond' END,
    CASE first_status WHEN 'running' THEN moment END,
    CASE WHEN watcher IS NULL THEN '{}'::uuid[] ELSE ARRAY[watcher] END);
  UPDATE agentplane.threads t SET status = 'busy', updated_at = moment,
    resting_status = CASE t.status WHEN 'busy' THEN t.resting_status ELSE t.status END, metadata = t.metadata
    || jsonb_build_object('graph_id', of_graph, 'assistant_id', by_assistant)
    WHERE t.thread_id = on_thread;
  IF first_status = 'pending' THEN PERFORM pg_notify('agentplane', 'pending:'); END IF;
  RETURN QUERY SELECT 'created'::text, first_status, moment;
END $$;
`;

/** A waiting run ends at once; one at work is asked to, by its row and a notification. */
const CANCEL = `
CREATE FUNCTION agentplane.cancel_run(visible jsonb[], the_run uuid, of_thread uuid, action text)
RETURNS TABLE (outcome text) LANGUAGE plpgsql AS $$
DECLARE
  found_status text;
  gone_watchers uuid[];
  has_thread boolean;
BEGIN
  PERFORM 1 FROM agentplane.threads t WHERE t.thread_id = of_thread AND t.metadata @> ANY (visible) FOR UPDATE;
  has_thread := FOUND;
  SELECT r.status, r.watchers INTO found_status, gone_watchers FROM agentplane.runs r
    WHERE r.run_id = the_run AND r.thread_id = of_thread
      AND CASE WHEN r.temporary THEN r.metadata @> ANY (visible) ELSE has_thread END FOR UPDATE;
  IF NOT FOUND THEN RETURN QUERY SELECT 'no_run'::text; RETURN; END IF;
  IF found_status = 'running' THEN
    UPDATE agentplane.runs SET cancel = CASE cancel WHEN 'rollback' THEN cancel ELSE action END,
      updated_at = clock_timestamp() WHERE run_id = the_run;
    PERFORM pg_notify('agentplane', 'cancel:' || the_run);
    RETURN QUERY SELECT 'asked'::text; RETURN;
  END IF;
  IF found_status <> 'pending' THEN RETURN QUERY SELECT 'ended'::text; RETURN; END IF;
  IF action = 'rollback' OR EXISTS (SELECT 1 FROM agentplane.runs WHERE run_id = the_run AND temporary) THEN
    DELETE FROM agentplane.runs WHERE run_id = the_run;
  ELSE
    UPDATE agentplane.runs SET status = 'interrupted', cancel = action, ended_at = clock_timestamp(),
      updated_at = clock_timestamp() WHERE run_id = the_run;
  END IF;
  UPDATE agentplane.threads t SET status = t.resting_status, updated_at = clock_timestamp()
    WHERE t.thread_id = of_thread AND t.status = 'busy' AND NOT EXISTS (
      SELECT 1 FROM agentplane.runs r WHERE r.thread_id = of_thread AND r.status IN ('pending', 'running'));
  IF cardinality(gone_watchers) > 0 THEN PERFORM pg_notify('agentplane', 'events:' || the_run); END IF;
  RETURN QUERY SELECT 'done'::text;
END $$;
`;

/**
 * The end of a run on a thread, refused when a newer attempt has it. One that is rolled back leaves nothing behind; a
 * rollback that was asked for also counts when the run came to its end just before it heard of it.
 */
const FINISH = `
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

/** json may hold text that jsonb refuses: for searching, it is left out. */
const SEARCHABLE = `
CREATE FUNCTION agentplane.searchable(value json) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN value::jsonb;
EXCEPTION WHEN data_exception THEN
  BEGIN
    RETURN regexp_replace(value::text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|d[89a-f][0-9a-f][0-9a-f])', '\\\\1', 'g')::jsonb;
  EXCEPTION WHEN data_exception THEN
    RETURN NULL;
  END;
END $$;
`;

/** Numbered from 1; a landed one is never edited once a release has it. */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'the first schema',
    sql: [TABLES, CANCEL, SUBMIT, FINISH, SEARCHABLE].join('\n'),
  },
];
