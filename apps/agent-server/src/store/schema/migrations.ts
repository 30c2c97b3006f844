import type { Migration } from '#lib/postgres';
import {
  CANCEL_REASONS,
  CANCEL_RUN,
  CLAIM_LIMITED_RUNS,
  FINISH_RUN,
  FINISH_RUNS,
  RUN_PRIORITIES,
  RUNS_BY_OWNER,
} from './run-functions.js';
import {
  CREATE_THREADS,
  READ_THREADS,
  REMOVE_THREAD,
  REMOVE_THREADS,
  SEARCHABLE,
} from './thread-functions.js';
import { SUBMIT_RUN, SUBMIT_RUNS } from '../statement/submit-run.js';
import {
  CONTEXT_KEY,
  CRONS,
  ITEMS,
  LARGE_ROWS,
  OWN_WEBHOOKS,
  RUN_LOGS,
  RUN_FOR_WEBHOOK_WITH_REASON,
  RUN_OUTLINES,
  TASK_INDEX,
  TASK_PUSHES,
  THREAD_TTLS,
  TRACE_ERASURES,
  WEBHOOKS,
} from './later-tables.js';

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

const ASSISTANT_VERSIONS = `
-- the highest number given; version is the one that runs use
ALTER TABLE agentplane.assistants ADD COLUMN last_version int NOT NULL DEFAULT 1;

CREATE TABLE agentplane.assistant_versions (
  assistant_id uuid NOT NULL REFERENCES agentplane.assistants ON DELETE CASCADE,
  version int NOT NULL,
  graph_id text NOT NULL,
  name text NOT NULL,
  description text,
  config jsonb NOT NULL,
  context jsonb NOT NULL,
  metadata jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (assistant_id, version)
);
INSERT INTO agentplane.assistant_versions
  SELECT assistant_id, version, graph_id, name, description, config, context, metadata, created_at
  FROM agentplane.assistants;
`;

const PLACES_OF_RUNS = `
-- counts runs that were removed too
ALTER TABLE agentplane.threads ADD COLUMN runs_made bigint NOT NULL DEFAULT 0;
-- among all runs that the thread ever had
ALTER TABLE agentplane.runs ADD COLUMN place bigint;
`;

const PATHS_OF_TASKS = `
ALTER TABLE agentplane.checkpoint_writes ADD COLUMN task_path text NOT NULL DEFAULT '';
`;

/** Numbered from 1; a landed one is never edited once a release has it. */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'the first schema',
    sql: [TABLES, CANCEL_RUN, SUBMIT_RUN, FINISH_RUN, SEARCHABLE].join('\n'),
  },
  { version: 2, name: 'versions of assistants', sql: ASSISTANT_VERSIONS },
  { version: 3, name: 'items of the store', sql: ITEMS },
  { version: 4, name: 'webhooks of runs', sql: [SEARCHABLE, WEBHOOKS, SUBMIT_RUN].join('\n') },
  { version: 5, name: 'logs of runs', sql: RUN_LOGS },
  { version: 6, name: 'crons', sql: CRONS },
  { version: 7, name: 'time to live of threads', sql: THREAD_TTLS },
  { version: 8, name: 'tasks', sql: TASK_INDEX },
  { version: 9, name: 'limits of runs at work', sql: CLAIM_LIMITED_RUNS },
  { version: 10, name: 'metadata of threads that are made for runs', sql: SUBMIT_RUN },
  { version: 11, name: 'places of runs in their threads', sql: [PLACES_OF_RUNS, SUBMIT_RUN].join('\n') },
  { version: 12, name: 'the key of contexts', sql: CONTEXT_KEY },
  { version: 13, name: 'traces to be deleted', sql: TRACE_ERASURES },
  { version: 14, name: 'removal of threads', sql: REMOVE_THREAD },
  { version: 15, name: 'limits of runs at work, by indexes', sql: CLAIM_LIMITED_RUNS },
  { version: 16, name: "webhooks of the agent's own app", sql: OWN_WEBHOOKS },
  {
    version: 17,
    name: 'outlines of runs',
    sql: [RUN_OUTLINES, CANCEL_RUN, SUBMIT_RUN, CLAIM_LIMITED_RUNS].join('\n'),
  },
  { version: 18, name: 'lengths of large rows', sql: [LARGE_ROWS, CANCEL_RUN].join('\n') },
  { version: 19, name: 'groups of runs on threads', sql: [SUBMIT_RUNS, FINISH_RUNS].join('\n') },
  { version: 20, name: 'groups of threads', sql: REMOVE_THREADS },
  { version: 21, name: 'bounds of groups of threads', sql: REMOVE_THREADS },
  {
    version: 22,
    name: 'reading of groups of threads',
    sql: [CREATE_THREADS, READ_THREADS, REMOVE_THREADS].join('\n'),
  },
  { version: 23, name: 'places of writes in their steps', sql: PATHS_OF_TASKS },
  { version: 24, name: 'turns of callers', sql: [RUNS_BY_OWNER, CLAIM_LIMITED_RUNS].join('\n') },
  { version: 25, name: 'notifications about tasks', sql: TASK_PUSHES },
  {
    version: 26,
    name: 'reasons of cancelled runs',
    sql: [CANCEL_REASONS, CANCEL_RUN, SUBMIT_RUN, RUN_FOR_WEBHOOK_WITH_REASON].join('\n'),
  },
  { version: 27, name: 'priorities of runs', sql: [RUN_PRIORITIES, CLAIM_LIMITED_RUNS].join('\n') },
];
