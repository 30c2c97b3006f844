import type { Migration } from '#lib/postgres';

/** Days whose payloads are sealed into files of the object store. */
export const lakeTables: Migration = {
  version: 52,
  name: 'sealed days',
  sql: `
-- a project's day of one tier
CREATE TABLE lake_days (
  tenant_id     uuid NOT NULL,
  project_id    uuid NOT NULL,
  day           date NOT NULL,
  tier          text NOT NULL CHECK (tier IN ('shortlived', 'longlived')),
  -- of the segments in force; 0: none
  generation    integer NOT NULL DEFAULT 0,
  -- the last look, and since when nothing has changed
  seen          pg_snapshot,
  seen_at       timestamptz,
  -- the last heartbeat of the worker that seals it; null: none does
  sealing_since timestamptz,
  sealed_at     timestamptz,
  -- runs whose payloads are in Postgres, at the last look that counted them
  loose_rows    bigint NOT NULL DEFAULT 0,
  sealed_rows   bigint NOT NULL DEFAULT 0,
  sealed_bytes  bigint NOT NULL DEFAULT 0,
  -- rows of the segments in force that are deleted or brought back
  gone_rows     bigint NOT NULL DEFAULT 0,
  -- bytes of deleted runs are in a segment: it is rewritten before this
  erase_before  timestamptz,
  attempts      integer NOT NULL DEFAULT 0,
  -- when a worker may seal it; null: it is not due
  next_at       timestamptz,
  -- of the last failed attempt, in words for people
  error         text,
  PRIMARY KEY (tenant_id, project_id, day, tier)
);
CREATE INDEX lake_days_due ON lake_days (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX lake_days_seen ON lake_days (seen_at);

-- a file
CREATE TABLE lake_segments (
  tenant_id     uuid NOT NULL,
  project_id    uuid NOT NULL,
  day           date NOT NULL,
  tier          text NOT NULL,
  generation    integer NOT NULL,
  id            uuid NOT NULL UNIQUE,
  key           text NOT NULL,
  -- writing: the object may exist; written: it is whole, runs are adopted; sealed: in force; former: replaced
  state         text NOT NULL CHECK (state IN ('writing', 'written', 'sealed', 'former')),
  -- a snapshot that is not newer than its rows: one that it does not see may have changed since
  seen          pg_snapshot,
  rows          bigint,
  bytes         bigint,
  payload_bytes bigint,
  sha256        text,
  first_time    timestamptz,
  last_time     timestamptz,
  made_at       timestamptz NOT NULL DEFAULT now(),
  former_since  timestamptz,
  PRIMARY KEY (tenant_id, project_id, day, tier, id)
);
-- few at a time
CREATE INDEX lake_segments_in_motion ON lake_segments (state, former_since) WHERE state IN ('writing', 'written', 'former');

-- Rows of files that were deleted or brought back: added by the transactions that do so, without any lock of a day,
-- and summed up in lake_days by the next look.
CREATE TABLE lake_gone (
  tenant_id  uuid NOT NULL,
  segment    uuid NOT NULL,
  rows       bigint NOT NULL,
  is_removal boolean NOT NULL,
  gone_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Objects of projects that were deleted: nothing else names them.
CREATE TABLE lake_garbage (
  key   text PRIMARY KEY,
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE OR REPLACE FUNCTION missing_payloads(run uuid, segment uuid) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
  IF segment IS NULL THEN
    RAISE EXCEPTION 'reading the payloads of run % failed: they are missing; restore them from a backup or delete the run', run;
  END IF;
  RAISE EXCEPTION 'reading the payloads of run % failed: they are sealed in segment %; configure the object store of the lake', run, segment;
END $$;
`,
};

/** Tables of Apache Iceberg over the sealed days of a project. */
export const icebergTables: Migration = {
  version: 53,
  name: 'tables of sealed days',
  sql: `
-- the table of a project
CREATE TABLE lake_tables (
  tenant_id         uuid NOT NULL,
  project_id        uuid NOT NULL,
  -- of the sets of files in force
  changes           bigint NOT NULL DEFAULT 1,
  -- since when the published version does not show them all; null: it does
  behind_since      timestamptz,
  -- the last one that was begun
  version           integer NOT NULL DEFAULT 0,
  -- the one that readers are given; 0: none yet
  published_version integer NOT NULL DEFAULT 0,
  metadata_key      text,
  published_at      timestamptz,
  -- since the last success
  attempts          integer NOT NULL DEFAULT 0,
  next_at           timestamptz,
  error             text,
  PRIMARY KEY (tenant_id, project_id)
);
CREATE INDEX lake_tables_behind ON lake_tables (behind_since) WHERE behind_since IS NOT NULL;

-- Objects that the published version names, or one that was begun.
CREATE TABLE lake_table_files (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  key        text NOT NULL UNIQUE,
  -- in which it was added
  version    integer NOT NULL,
  bytes      integer NOT NULL,
  PRIMARY KEY (tenant_id, project_id, key)
);

-- lake_garbage.since may be ahead: until then the object may still be read
INSERT INTO lake_tables (tenant_id, project_id, behind_since)
SELECT DISTINCT tenant_id, project_id, clock_timestamp() FROM lake_segments WHERE state = 'sealed';
`,
};

/** Files of a day have the runs of both tiers, in the order of exports. */
export const daysOfAllTiers: Migration = {
  version: 55,
  name: 'sealed days of all tiers',
  sql: `
CREATE TEMP TABLE joined ON COMMIT DROP AS
SELECT tenant_id, project_id, day, max(generation) AS generation, max(sealed_at) AS sealed_at, sum(loose_rows) AS loose_rows,
  sum(sealed_rows) AS sealed_rows, sum(sealed_bytes) AS sealed_bytes, sum(gone_rows) AS gone_rows, min(erase_before) AS erase_before
FROM lake_days GROUP BY 1, 2, 3;

-- those that a worker did not finish stay beyond the generation in force
UPDATE lake_segments s SET generation = j.generation + s.generation - d.generation
FROM lake_days d JOIN joined j USING (tenant_id, project_id, day)
WHERE d.tenant_id = s.tenant_id AND d.project_id = s.project_id AND d.day = s.day AND d.tier = s.tier AND s.state <> 'former';

ALTER TABLE lake_segments DROP CONSTRAINT lake_segments_pkey, DROP COLUMN tier, ADD PRIMARY KEY (tenant_id, project_id, day, id);
TRUNCATE lake_days;
ALTER TABLE lake_days DROP CONSTRAINT lake_days_pkey, DROP COLUMN tier, ADD PRIMARY KEY (tenant_id, project_id, day);
-- the quiet hours begin again
INSERT INTO lake_days (tenant_id, project_id, day, generation, seen, seen_at, sealed_at, loose_rows, sealed_rows, sealed_bytes,
  gone_rows, erase_before)
SELECT tenant_id, project_id, day, generation, pg_current_snapshot(), clock_timestamp(), sealed_at, loose_rows, sealed_rows,
  sealed_bytes, gone_rows, erase_before
FROM joined;

-- when files that no row names were searched for
CREATE TABLE lake_searches (searched_at timestamptz NOT NULL);
INSERT INTO lake_searches VALUES ('-infinity');
`,
};
