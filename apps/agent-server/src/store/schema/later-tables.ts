import { CHANNEL } from '../channel.js';
import { CANCEL_RUN } from './run-functions.js';

/**
 * Items of the store. The order of namespaces is that of bytes: the items under a prefix are then a range of
 * the key.
 */
export const ITEMS = `
CREATE TABLE agentplane.store_items (
  item_id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  namespace text[] COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- how long it lives after a write, or after a read that asks for it; null: it never expires
  ttl_minutes double precision,
  expires_at timestamptz,
  PRIMARY KEY (namespace, key)
);
CREATE INDEX store_items_by_expiry ON agentplane.store_items (expires_at) WHERE expires_at IS NOT NULL;

-- Unit vectors: their product is their cosine. Numbers of a model do not compress.
CREATE TABLE agentplane.store_vectors (
  item_id bigint NOT NULL REFERENCES agentplane.store_items (item_id) ON DELETE CASCADE,
  field text NOT NULL,
  dims int NOT NULL,
  vector real[] NOT NULL,
  PRIMARY KEY (item_id, field)
);
ALTER TABLE agentplane.store_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;
`;

/**
 * Relayed events keep the position that they have in the output of their run; rows remember that output is
 * wanted.
 */
export const RUN_LOGS = `
DROP TABLE agentplane.run_events;
CREATE UNLOGGED TABLE agentplane.run_events (
  run_id uuid NOT NULL,
  attempt int NOT NULL,
  n int NOT NULL,
  event text NOT NULL,
  data text NOT NULL,
  -- sent again for one reader: nothing new for the others
  repeated boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, attempt, n)
);
CREATE INDEX run_events_by_age ON agentplane.run_events (created_at);

-- Its output has readers: every attempt records it from its first event.
ALTER TABLE agentplane.runs ADD COLUMN streamed boolean NOT NULL DEFAULT false;
-- Runs without a thread whose output may still be read.
CREATE INDEX runs_ended_temporary ON agentplane.runs (ended_at) WHERE temporary AND ended_at IS NOT NULL;
`;

/** Table of schedules of runs. */
export const CRONS = `
CREATE TABLE agentplane.crons (
  cron_id uuid PRIMARY KEY,
  assistant_id uuid NOT NULL,
  -- null: each run has a thread of its own
  thread_id uuid,
  on_run_completed text NOT NULL CHECK (on_run_completed IN ('delete', 'keep')),
  schedule text NOT NULL,
  timezone text,
  end_time timestamptz,
  enabled boolean NOT NULL DEFAULT true,
  -- why the server itself has disabled it
  disabled_reason text,
  -- of its runs: the request, and what its maker adds to configurable
  payload json NOT NULL,
  caller json NOT NULL,
  user_id text,
  metadata jsonb NOT NULL DEFAULT '{}',
  -- null: it fires no more
  next_run_date timestamptz,
  last_run_date timestamptz,
  last_run_id uuid,
  -- why the last fire made no run
  last_error text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX crons_due ON agentplane.crons (next_run_date) WHERE enabled AND next_run_date IS NOT NULL;
CREATE INDEX crons_by_thread ON agentplane.crons (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX crons_by_metadata ON agentplane.crons USING gin (metadata jsonb_path_ops);
`;

/**
 * Lifetimes of threads. The table is separate from the threads, whose rows change with every run: an index
 * over the time of their last change would cost each of these changes. A row is looked at when the thread
 * could have expired at the earliest.
 */
export const THREAD_TTLS = `
CREATE TABLE agentplane.thread_ttls (
  thread_id uuid PRIMARY KEY REFERENCES agentplane.threads ON DELETE CASCADE,
  strategy text NOT NULL CHECK (strategy IN ('delete', 'keep_latest')),
  -- since the thread was last changed
  minutes float8 NOT NULL,
  check_at timestamptz NOT NULL
);
CREATE INDEX thread_ttls_due ON agentplane.thread_ttls (check_at);

-- Of threads made from now on that ask for none; the revision that started last writes it.
CREATE TABLE agentplane.thread_ttl_default (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  strategy text NOT NULL CHECK (strategy IN ('delete', 'keep_latest')),
  minutes float8 NOT NULL
);

CREATE FUNCTION agentplane.give_default_ttl() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO agentplane.thread_ttls (thread_id, strategy, minutes, check_at)
    SELECT NEW.thread_id, d.strategy, d.minutes, clock_timestamp() + d.minutes * interval '1 minute'
    FROM agentplane.thread_ttl_default d ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER threads_default_ttl AFTER INSERT ON agentplane.threads
  FOR EACH ROW EXECUTE FUNCTION agentplane.give_default_ttl();
`;

/**
 * Data that a webhook gets of a run `r` that ends: the run as the wire shows it. Its values are added when it
 * is sent.
 */
const RUN_FOR_WEBHOOK = `
CREATE FUNCTION agentplane.wire_time(moment timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
$$;

${runForWebhook('')}
`;

/** @param more further members, as SQL: a function is made when its columns exist */
function runForWebhook(more: string): string {
  return `CREATE OR REPLACE FUNCTION agentplane.run_for_webhook(r agentplane.runs, end_status text, end_error json)
RETURNS json LANGUAGE sql VOLATILE AS $$
  SELECT json_build_object('run_id', r.run_id, 'thread_id', r.thread_id, 'assistant_id', r.assistant_id,
    'created_at', agentplane.wire_time(r.created_at), 'updated_at', agentplane.wire_time(clock_timestamp()),
    'status', end_status, 'metadata', r.metadata, 'kwargs', r.kwargs, 'multitask_strategy', r.multitask_strategy,
    'run_started_at', agentplane.wire_time(r.started_at), 'run_ended_at', agentplane.wire_time(clock_timestamp()),
    'error', end_error${more});
$$;`;
}

/** The same with the reason for which it was cancelled. */
export const RUN_FOR_WEBHOOK_WITH_REASON = runForWebhook(
  `, 'cancel_reason', CASE end_status WHEN 'interrupted' THEN r.cancel_reason END`,
);

/** Calls that are due or were made: one for each run that ended and names a webhook. */
export const WEBHOOKS = `
-- when its first attempt began
ALTER TABLE agentplane.runs ADD COLUMN started_at timestamptz;

CREATE TABLE agentplane.webhooks (
  run_id uuid PRIMARY KEY,
  thread_id uuid NOT NULL,
  temporary boolean NOT NULL,
  -- of the run: one without a thread is found by it
  metadata jsonb NOT NULL,
  url text NOT NULL,
  host text NOT NULL GENERATED ALWAYS AS (substring(url FROM '://([^/]+)')) STORED,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  -- what is sent; null once the call has succeeded or failed for good
  run json,
  run_values json,
  attempts int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  next_attempt_at timestamptz DEFAULT clock_timestamp(),
  last_error text,
  settled_at timestamptz
);
CREATE INDEX webhooks_due ON agentplane.webhooks (next_attempt_at) WHERE state = 'pending';
CREATE INDEX webhooks_settled ON agentplane.webhooks (settled_at) WHERE state <> 'pending';
CREATE INDEX webhooks_by_thread ON agentplane.webhooks (thread_id);
${RUN_FOR_WEBHOOK}
${CANCEL_RUN}
`;

/** Webhooks that are paths of the agent's own HTTP app have no host. */
export const OWN_WEBHOOKS = `
ALTER TABLE agentplane.webhooks DROP COLUMN host;
ALTER TABLE agentplane.webhooks ADD COLUMN host text NOT NULL GENERATED ALWAYS AS (
  CASE WHEN left(url, 1) = '/' THEN '' ELSE substring(url FROM '://([^/]+)') END) STORED;
`;

/**
 * Summary of a run that is read without its input, and the time its attempts have worked. Neither is filled
 * in for rows that exist: the first is made of the input when it is missing, as in rows of servers of an
 * earlier version.
 */
export const RUN_OUTLINES = `
ALTER TABLE agentplane.runs ADD COLUMN outline jsonb, ADD COLUMN worked_ms float8 NOT NULL DEFAULT 0;

CREATE FUNCTION agentplane.outline_of(kwargs json) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  given jsonb := agentplane.searchable(kwargs);
BEGIN
  RETURN jsonb_strip_nulls(jsonb_build_object('bytes', octet_length(kwargs::text),
    'caller', given -> 'caller' -> 'langgraph_auth_user_id', 'webhook', given -> 'webhook',
    'streamed', given -> 'streamed', 'resumable', given -> 'resumable', 'protocol', given -> 'protocol'));
END $$;
`;

/**
 * Size of rows before they are read. Calls of webhooks that servers of an earlier version noted have no
 * length, and count as large.
 */
export const LARGE_ROWS = `
-- of the input and the values of the run, which are the most of what is sent
ALTER TABLE agentplane.webhooks ADD COLUMN bytes bigint;

-- What reading a JSON text takes: its bytes, and more for each value, of which there are about as many as commas.
CREATE FUNCTION agentplane.reading_cost(value text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(17 * octet_length(value)::bigint - 16 * octet_length(replace(value, ',', ''))::bigint, 0);
$$;
`;

/** Runs that are tasks of the A2A protocol, for lists of them; no other run is in it. */
export const TASK_INDEX = `
CREATE INDEX runs_of_tasks ON agentplane.runs (assistant_id, updated_at DESC) WHERE metadata ? 'a2a';
`;

/**
 * Traces that the platform has yet to delete: a row is written in the deletion of the thread or run, and is
 * removed once the platform has answered.
 */
export const TRACE_ERASURES = `
CREATE TABLE agentplane.trace_erasures (
  kind text NOT NULL CHECK (kind IN ('trace', 'thread')),
  -- of the run, which is that of its trace; or of the thread
  id uuid NOT NULL,
  -- traces of the thread that began later stay: its id may be used again
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_error text,
  PRIMARY KEY (kind, id)
);
CREATE INDEX trace_erasures_due ON agentplane.trace_erasures (next_attempt_at);
`;

/** A secret of the deployment, from which ids of threads are made that no caller can foresee. */
export const CONTEXT_KEY = `
CREATE TABLE agentplane.context_key (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  key text NOT NULL
);
INSERT INTO agentplane.context_key (key) VALUES (gen_random_uuid()::text || gen_random_uuid()::text);
`;

/** SQL: the task of a run `r`, as text. */
const TASK_OF = `coalesce(r.metadata -> 'a2a' ->> 'task_id', r.run_id::text)`;

/**
 * Receivers of notifications about tasks of the A2A protocol, and the calls of them, which are rows of
 * `webhooks` with an id of their own. A call is noted at the end of the transaction that changes the status of
 * a run of the task, or that drops its question. Other runs pay for the conditions of the triggers alone.
 */
export const TASK_PUSHES = `
CREATE TABLE agentplane.task_pushes (
  task_id uuid NOT NULL,
  config_id text NOT NULL,
  thread_id uuid NOT NULL REFERENCES agentplane.threads ON DELETE CASCADE,
  assistant_id uuid NOT NULL,
  -- version of the protocol that the receiver reads
  wire text NOT NULL CHECK (wire IN ('0.3', '1.0')),
  url text NOT NULL,
  token text,
  scheme text,
  credentials text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (task_id, config_id)
);
CREATE INDEX task_pushes_by_thread ON agentplane.task_pushes (thread_id);

ALTER TABLE agentplane.webhooks
  ADD COLUMN push_task uuid,
  ADD COLUMN push_config text,
  -- status of the run when the call was noted
  ADD COLUMN push_status text,
  ADD FOREIGN KEY (push_task, push_config) REFERENCES agentplane.task_pushes ON DELETE CASCADE;
CREATE INDEX webhooks_by_push ON agentplane.webhooks (push_task, push_config) WHERE push_task IS NOT NULL;

CREATE FUNCTION agentplane.note_pushes(of_thread uuid, of_task text, the_status text, only_config text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO agentplane.webhooks (run_id, thread_id, temporary, metadata, url, push_task, push_config, push_status, bytes)
    SELECT gen_random_uuid(), t.thread_id, false, '{}', p.url, p.task_id, p.config_id, the_status,
      coalesce(octet_length(t.values::text), 0)
    FROM agentplane.task_pushes p JOIN agentplane.threads t ON t.thread_id = p.thread_id
    WHERE p.thread_id = of_thread AND p.task_id::text = of_task AND (only_config IS NULL OR p.config_id = only_config);
  IF FOUND THEN PERFORM pg_notify('${CHANNEL}', 'webhook:'); END IF;
END $$;

CREATE FUNCTION agentplane.push_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  r agentplane.runs := NEW;
BEGIN
  PERFORM agentplane.note_pushes(r.thread_id, ${TASK_OF}, r.status, NULL);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER runs_push_status AFTER UPDATE OF status ON agentplane.runs
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.status <> OLD.status AND NEW.status <> 'pending' AND (NEW.status <> 'running' OR NEW.attempt = 1)
    AND NOT NEW.temporary AND NEW.metadata ? 'a2a')
  EXECUTE FUNCTION agentplane.push_status();
-- a run that continues a task and begins where it was made
CREATE CONSTRAINT TRIGGER runs_push_begun AFTER INSERT ON agentplane.runs
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.status = 'running' AND NOT NEW.temporary AND NEW.metadata -> 'a2a' ? 'task_id')
  EXECUTE FUNCTION agentplane.push_status();

-- a task that asked for input is canceled when its thread gets a run that is not the answer
CREATE FUNCTION agentplane.push_dropped() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  tasks text[];
BEGIN
  IF NOT EXISTS (SELECT 1 FROM agentplane.task_pushes p WHERE p.thread_id = NEW.thread_id) THEN RETURN NULL; END IF;
  SELECT array_agg(newest.task) INTO tasks FROM (
    SELECT ${TASK_OF} AS task FROM agentplane.runs r WHERE r.thread_id = NEW.thread_id ORDER BY r.ordinal DESC LIMIT 2) newest;
  IF tasks[1] <> tasks[2] THEN PERFORM agentplane.note_pushes(NEW.thread_id, tasks[2], 'interrupted', NULL); END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER threads_push_dropped AFTER UPDATE OF status ON agentplane.threads
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.status = 'interrupted' AND NEW.status = 'busy')
  EXECUTE FUNCTION agentplane.push_dropped();
`;

/** Schema of everything the server keeps, the checkpointer's own tables included. */
export const SCHEMA = 'agentplane';

/**
 * The tables of the public Postgres checkpointer, as it makes them, with the number of migrations that they
 * correspond to. They are copied because the server needs them and not the library, which would come with all
 * of LangChain: 30 MB and a quarter of a second. A test compares them with the tables that the library makes.
 */
export const CHECKPOINTER_TABLES = `
CREATE TABLE IF NOT EXISTS agentplane.checkpoint_migrations (v INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS agentplane.checkpoints (
  thread_id TEXT NOT NULL,
  checkpoint_ns TEXT NOT NULL DEFAULT '',
  checkpoint_id TEXT NOT NULL,
  parent_checkpoint_id TEXT,
  type TEXT,
  checkpoint JSONB NOT NULL,
  metadata JSONB NOT NULL DEFAULT '{}',
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE IF NOT EXISTS agentplane.checkpoint_blobs (
  thread_id TEXT NOT NULL,
  checkpoint_ns TEXT NOT NULL DEFAULT '',
  channel TEXT NOT NULL,
  version TEXT NOT NULL,
  type TEXT NOT NULL,
  blob BYTEA,
  PRIMARY KEY (thread_id, checkpoint_ns, channel, version)
);
CREATE TABLE IF NOT EXISTS agentplane.checkpoint_writes (
  thread_id TEXT NOT NULL,
  checkpoint_ns TEXT NOT NULL DEFAULT '',
  checkpoint_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  idx INTEGER NOT NULL,
  channel TEXT NOT NULL,
  type TEXT,
  blob BYTEA NOT NULL,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
INSERT INTO agentplane.checkpoint_migrations SELECT generate_series(0, 4) ON CONFLICT DO NOTHING;
`;
