import { buildPartitionedIndex, type Migration } from '#lib/postgres';

/** Traces and threads that were deleted by name, and must not come back by an upload in flight. */
export const traceErasures: Migration = {
  version: 4,
  name: 'erasures of traces',
  sql: `
CREATE TABLE trace_erasures (
  tenant_id  uuid NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('trace', 'thread')),
  -- of the trace, or of the thread that the traces name in their metadata
  id         text NOT NULL,
  project_id uuid NOT NULL,
  -- of a thread: traces that began later belong to a new thread of the same id; null for a trace
  began_by   timestamptz,
  erased_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- whether its rows were deleted; another process continues where one ended early
  is_done    boolean NOT NULL DEFAULT false,
  PRIMARY KEY (tenant_id, kind, id, project_id)
);
CREATE INDEX trace_erasures_age ON trace_erasures (erased_at);
-- The update's trace, where the update names it.
ALTER TABLE run_patches_waiting ADD COLUMN trace_id uuid;
-- Roots alone: each of them leads to all runs of its trace.
CREATE INDEX runs_thread ON runs (tenant_id, project_id, thread_id) WHERE is_root AND thread_id IS NOT NULL;
`,
};

export const runKeysByTrace: Migration = {
  version: 5,
  name: 'runs of a trace',
  transaction: false,
  statements: [
    'DROP INDEX CONCURRENTLY IF EXISTS run_keys_trace',
    'CREATE INDEX CONCURRENTLY run_keys_trace ON run_keys (tenant_id, trace_id)',
  ],
};

/** Interrupted deletions of traces are completed tenant by tenant, each by one process at a time. */
export const erasureClaims: Migration = {
  version: 38,
  name: 'claims of deletions of traces',
  sql: `
-- another process leaves it alone until then
ALTER TABLE trace_erasures ADD COLUMN claimed_until timestamptz NOT NULL DEFAULT '-infinity';
CREATE INDEX trace_erasures_undone ON trace_erasures (tenant_id, erased_at) WHERE NOT is_done;
`,
};

/** Retention of runs by tenant. A tenant without a row keeps them indefinitely. */
export const traceRetention: Migration = {
  version: 23,
  name: 'retention of traces',
  sql: `
CREATE TABLE trace_retention (
  tenant_id       uuid PRIMARY KEY,
  -- of shortlived runs, and of all; null: kept for good
  shortlived_days integer CHECK (shortlived_days > 0),
  longlived_days  integer CHECK (longlived_days > 0),
  default_tier    text NOT NULL DEFAULT 'longlived' CHECK (default_tier IN ('shortlived', 'longlived')),
  -- when expired runs are looked for next
  due_at          timestamptz NOT NULL DEFAULT '-infinity'
);
CREATE INDEX trace_retention_due ON trace_retention (due_at);
`,
};

/** Finds expired runs of the short tier without reading those of the long one. Empty where no run is shortlived. */
export const shortlivedRuns: Migration = {
  version: 24,
  name: 'shortlived runs',
  transaction: false,
  perform: (connection) =>
    buildPartitionedIndex(connection, {
      name: 'runs_shortlived',
      table: 'runs',
      on: `(tenant_id, project_id, start_time, id, trace_id) WHERE trace_tier = 'shortlived'`,
    }),
};

/** Traces that links open for anyone. */
export const traceShares: Migration = {
  version: 21,
  name: 'shares of traces',
  sql: `
CREATE TABLE trace_shares (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  trace_id   uuid NOT NULL,
  -- random: who knows it may read the trace
  token      uuid NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, trace_id, project_id)
);
`,
};

/** The run that represents the root of a trace in a project while the root has not come. */
export const traceTops: Migration = {
  version: 47,
  name: 'tops of traces without a root',
  sql: `
CREATE TABLE trace_tops (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  trace_id   uuid NOT NULL,
  -- null only within the transaction that looks for it
  run_id     uuid,
  start_time timestamptz,
  PRIMARY KEY (tenant_id, trace_id, project_id)
);
`,
};

/**
 * Roots of a thread by their time: whether a thread has a later root, and which threads a time has, is read from the index
 * alone. It replaces the one without the time.
 */
export const threadsByTime: Migration = {
  version: 41,
  name: 'roots of threads by time',
  transaction: false,
  async perform(connection) {
    await buildPartitionedIndex(connection, {
      name: 'runs_thread_time',
      table: 'runs',
      on: '(tenant_id, project_id, thread_id, start_time) WHERE is_root AND thread_id IS NOT NULL',
    });
    await connection.query('DROP INDEX IF EXISTS runs_thread');
  },
};

/** Runs that came before one of their ancestors, until it comes. */
export const unplacedRuns: Migration = {
  version: 12,
  name: 'unplaced runs',
  sql: `
CREATE TABLE unplaced_runs (
  tenant_id     uuid NOT NULL,
  project_id    uuid NOT NULL,
  start_time    timestamptz NOT NULL,
  trace_id      uuid NOT NULL,
  run_id        uuid NOT NULL,
  parent_run_id uuid NOT NULL,
  received_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, trace_id, run_id)
);
CREATE INDEX unplaced_runs_parent ON unplaced_runs (tenant_id, trace_id, parent_run_id);
-- Those whose ancestors never come end by age.
CREATE INDEX unplaced_runs_age ON unplaced_runs (received_at);
`,
};

/**
 * Rows that wait for runs are found by project when the project is deleted, regardless of the tenant's other
 * waiting rows; unplaced runs by age in a total order, so that giving them up is one walk.
 */
export const waitingByProject: Migration = {
  version: 27,
  name: 'what waits for runs by project',
  sql: `
CREATE INDEX run_patches_waiting_project ON run_patches_waiting (tenant_id, project_id) WHERE project_id IS NOT NULL;
CREATE INDEX unplaced_runs_project ON unplaced_runs (tenant_id, project_id);
CREATE INDEX attachments_project ON attachments (tenant_id, project_id);
DROP INDEX unplaced_runs_age;
CREATE INDEX unplaced_runs_age ON unplaced_runs (received_at, tenant_id, trace_id, run_id);
`,
};

/** Projects that were deleted: their rows go afterwards, piece by piece, and their ids are answered as deleted. */
export const projectDeletions: Migration = {
  version: 22,
  name: 'deletions of projects',
  sql: `
CREATE TABLE project_deletions (
  tenant_id     uuid NOT NULL,
  project_id    uuid NOT NULL,
  name          text NOT NULL,
  deleted_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- null while rows of it are left
  completed_at  timestamptz,
  -- another process leaves it alone until then
  claimed_until timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (tenant_id, project_id)
);
-- Few at a time: what is read of runs looks here, to leave out those that are to go.
CREATE INDEX project_deletions_pending ON project_deletions (tenant_id, deleted_at) INCLUDE (project_id)
  WHERE completed_at IS NULL;
CREATE INDEX project_deletions_completed ON project_deletions (completed_at) WHERE completed_at IS NOT NULL;
`,
};

/**
 * Data that ingestion refused, repaired and left out, for the people of a project. The writer limits their
 * number.
 */
export const ingestProblemTables: Migration = {
  version: 7,
  name: 'ingest problems',
  sql: `
-- project_id is zero where a refused run named no project that exists.
CREATE TABLE ingest_problems (
  seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  kind       text NOT NULL CHECK (kind IN ('refused', 'mended', 'dropped')),
  type       text NOT NULL,
  run_id     text,
  member     text,
  message    text NOT NULL
);
CREATE INDEX ingest_problems_project ON ingest_problems (tenant_id, project_id, seq);
CREATE INDEX ingest_problems_tenant ON ingest_problems (tenant_id, seq);
CREATE TABLE ingest_problem_counts (
  tenant_id     uuid NOT NULL,
  project_id    uuid NOT NULL,
  kind          text NOT NULL,
  type          text NOT NULL,
  count         bigint NOT NULL,
  first_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, project_id, kind, type)
);
`,
};

const SQL = `
CREATE SEQUENCE run_change_seq;

-- The arbiter: says where a run lies, once and for all. Partitions by day cannot keep a run unique by themselves.
-- id before trace_id, so that a run is also found by its id alone.
CREATE TABLE run_keys (
  tenant_id  uuid NOT NULL,
  id         uuid NOT NULL,
  trace_id   uuid NOT NULL,
  start_time timestamptz NOT NULL,
  project_id uuid NOT NULL,
  PRIMARY KEY (tenant_id, id, trace_id)
);

-- The primary key is the export order within a project.
CREATE TABLE runs (
  tenant_id            uuid NOT NULL,
  project_id           uuid NOT NULL,
  start_time           timestamptz NOT NULL,
  id                   uuid NOT NULL,
  trace_id             uuid NOT NULL,
  parent_run_id        uuid,
  parent_run_ids       uuid[] NOT NULL,
  reference_example_id uuid,
  end_time             timestamptz,
  first_token_time     timestamptz,
  total_tokens         bigint,
  prompt_tokens        bigint,
  completion_tokens    bigint,
  change_seq           bigint NOT NULL DEFAULT nextval('run_change_seq'),
  received_at          timestamptz NOT NULL DEFAULT now(),
  is_root              boolean NOT NULL,
  name                 text NOT NULL,
  run_type             text NOT NULL,
  status               text NOT NULL,
  dotted_order         text NOT NULL,
  trace_tier           text NOT NULL,
  tags                 text[] NOT NULL,
  thread_id            text,
  total_cost           numeric(18,10),
  prompt_cost          numeric(18,10),
  completion_cost      numeric(18,10),
  PRIMARY KEY (tenant_id, project_id, start_time, id, trace_id)
) PARTITION BY RANGE (start_time);

-- Payloads are the bytes that arrived. (segment, ordinal) is where a sealed payload lies instead.
CREATE TABLE run_payloads (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  start_time timestamptz NOT NULL,
  id         uuid NOT NULL,
  trace_id   uuid NOT NULL,
  ordinal    integer,
  segment    uuid,
  error      text,
  events     text,
  extra      text,
  inputs     text,
  outputs    text,
  serialized text,
  PRIMARY KEY (tenant_id, project_id, start_time, id, trace_id)
) PARTITION BY RANGE (start_time);

-- lz4 halves the server's work of reading an export. Servers built without it (the embedded one is) keep their default.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)) THEN
    ALTER TABLE run_payloads ALTER error SET COMPRESSION lz4, ALTER events SET COMPRESSION lz4,
      ALTER extra SET COMPRESSION lz4, ALTER inputs SET COMPRESSION lz4, ALTER outputs SET COMPRESSION lz4,
      ALTER serialized SET COMPRESSION lz4;
  END IF;
END $$;

-- Years outside of any plausible clock share two partitions: a client must not be able to make one for each of their days.
CREATE TABLE runs_before_1970 PARTITION OF runs FOR VALUES FROM (MINVALUE) TO ('1970-01-01 00:00:00+00');
CREATE TABLE runs_after_2099 PARTITION OF runs FOR VALUES FROM ('2100-01-01 00:00:00+00') TO (MAXVALUE);
CREATE TABLE run_payloads_before_1970 PARTITION OF run_payloads
  FOR VALUES FROM (MINVALUE) TO ('1970-01-01 00:00:00+00');
CREATE TABLE run_payloads_after_2099 PARTITION OF run_payloads
  FOR VALUES FROM ('2100-01-01 00:00:00+00') TO (MAXVALUE);

-- Updates that came before their create.
CREATE TABLE run_patches_waiting (
  seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id   uuid NOT NULL,
  run_id      uuid NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  -- the only project whose run it may change; null where the sender may change any
  project_id  uuid,
  run         text NOT NULL
);
CREATE INDEX run_patches_waiting_run ON run_patches_waiting (tenant_id, run_id);
-- Updates whose create never comes are dropped by age.
CREATE INDEX run_patches_waiting_age ON run_patches_waiting (received_at);

CREATE TABLE export_progress (
  run_uid           text PRIMARY KEY,
  attempt           integer NOT NULL,
  state             text NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'cancelled')),
  cursor_start_time timestamptz,
  cursor_id         uuid,
  -- the same id may stand in two traces, also at the same time: only with the trace is the order a total one
  cursor_trace_id   uuid,
  rows              bigint NOT NULL DEFAULT 0,
  bytes             bigint NOT NULL DEFAULT 0,
  part              integer NOT NULL DEFAULT 0,
  intent            jsonb,
  error             text,
  updated_at        timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE export_files (
  run_uid        text NOT NULL REFERENCES export_progress ON DELETE CASCADE,
  part           integer NOT NULL,
  key            text NOT NULL,
  rows           bigint NOT NULL,
  bytes          bigint NOT NULL,
  etag           text,
  sha256         text,
  min_start_time timestamptz,
  max_start_time timestamptz,
  finished_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (run_uid, part)
);
`;

export const traceTables: Migration = { version: 2, name: 'trace tables', sql: SQL };
