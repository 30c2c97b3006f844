import type { Migration } from '#lib/postgres';

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
