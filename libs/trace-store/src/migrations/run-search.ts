import { buildPartitionedIndex, type Migration, type PartitionedIndex } from '#lib/postgres';

/** Tables that filters read beside the columns of runs. */
export const runSearch: Migration = {
  version: 8,
  name: 'pairs and feedback of runs',
  sql: `
-- Short scalar values of metadata, inputs and outputs, taken out when a run is stored.
CREATE TABLE run_pairs (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  start_time timestamptz NOT NULL,
  trace_id   uuid NOT NULL,
  run_id     uuid NOT NULL,
  -- 1 metadata, 2 input, 3 output
  kind       smallint NOT NULL,
  key        text NOT NULL,
  value      text NOT NULL
) PARTITION BY RANGE (start_time);
CREATE INDEX run_pairs_value ON run_pairs (tenant_id, project_id, kind, key, value, start_time);
-- Equal keys share an entry, so this index costs a few bytes a pair.
CREATE INDEX run_pairs_run ON run_pairs (tenant_id, run_id);
-- a partition beside each of those that runs have
DO $$ DECLARE part record; BEGIN
  FOR part IN SELECT replace(c.relname, 'runs_', 'run_pairs_') AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'runs'::regclass
  LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF run_pairs %s', part.name, part.bound);
  END LOOP;
END $$;

CREATE TABLE feedback (
  tenant_id   uuid NOT NULL,
  id          uuid NOT NULL,
  -- of the run; null while the run has not arrived, or where the feedback is of a project
  project_id  uuid,
  trace_id    uuid,
  run_id      uuid,
  -- the run's
  start_time  timestamptz,
  key         text NOT NULL,
  score       double precision,
  value       text,
  comment     text,
  correction  text,
  source      text,
  created_at  timestamptz NOT NULL DEFAULT now(),
  modified_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);
CREATE INDEX feedback_run ON feedback (tenant_id, run_id);
CREATE INDEX feedback_key ON feedback (tenant_id, project_id, key, score, start_time);

-- Where a sealed payload lies: a run keeps it when its payload row goes.
ALTER TABLE runs ADD segment uuid, ADD ordinal integer,
  -- An index may depend on this one, and updates that leave it as it is are still HOT; not so on status.
  ADD is_failed boolean GENERATED ALWAYS AS (status = 'error') STORED,
  -- The transaction that wrote the row last. All of those before pg_snapshot_xmin(pg_current_snapshot()) have ended:
  -- who reads up to there, exclusive, misses nothing that is committed later.
  ADD changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  DROP change_seq;
DROP SEQUENCE run_change_seq;
ALTER TABLE run_payloads DROP segment, DROP ordinal;
CREATE FUNCTION missing_payloads(run uuid, segment uuid) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
  IF segment IS NULL THEN
    RAISE EXCEPTION 'reading the payloads of run % failed: they are missing; restore them from a backup or delete the run', run;
  END IF;
  RAISE EXCEPTION 'reading the payloads of run % failed: they are sealed in %, which this version cannot read; use a newer version', run, segment;
END $$;
`,
};

/** Null for runs that were stored before, and for those that stood for no root when they were stored. */
export const searchMarks: Migration = {
  version: 54,
  name: 'marks of texts in roots',
  sql: 'ALTER TABLE runs ADD search_marks bit(4096)',
};

/** Each has a query in `run-indexes.spec.ts` that needs it. */
const INDEXES: readonly PartitionedIndex[] = [
  { name: 'runs_trace', table: 'runs', on: '(tenant_id, trace_id)' },
  { name: 'runs_parent', table: 'runs', on: '(tenant_id, parent_run_id) WHERE parent_run_id IS NOT NULL' },
  { name: 'runs_root', table: 'runs', on: '(tenant_id, project_id, start_time, id, trace_id) WHERE is_root' },
  {
    name: 'runs_failed',
    table: 'runs',
    on: '(tenant_id, project_id, start_time, id, trace_id) WHERE is_failed',
  },
];

export const runIndexes: Migration = {
  version: 9,
  name: 'indexes of runs',
  transaction: false,
  async perform(connection) {
    for (const index of INDEXES) await buildPartitionedIndex(connection, index);
  },
};

/** Keys of a range of days are found, and deleted with their partitions, without reading all of them. */
export const runKeysByTime: Migration = {
  version: 10,
  name: 'run keys by time',
  transaction: false,
  statements: [
    'DROP INDEX CONCURRENTLY IF EXISTS run_keys_time',
    'CREATE INDEX CONCURRENTLY run_keys_time ON run_keys USING brin (start_time) WITH (pages_per_range = 32)',
  ],
};

/**
 * Pairs of inputs and outputs are read from the payloads: kept as rows they nearly double the cost of storing
 * a run, and few filters name them.
 */
export const payloadPairs: Migration = {
  version: 11,
  name: 'pairs of payloads',
  sql: `
DELETE FROM run_pairs WHERE kind <> 1;
-- The scalars of an object: names joined by dots, levels of lists left out. None of what is no object, or no jsonb.
CREATE FUNCTION payload_pairs(payload text) RETURNS TABLE (key text, value text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 20 AS $$
  WITH RECURSIVE walk(key, value) AS (
    SELECT NULL::text, object FROM (
      SELECT CASE WHEN pg_input_is_valid(payload, 'jsonb') THEN payload::jsonb END AS object
    ) AS whole WHERE jsonb_typeof(object) = 'object'
    UNION ALL
    SELECT part.key, part.value FROM walk CROSS JOIN LATERAL (
      SELECT CASE WHEN walk.key IS NULL THEN member.key ELSE walk.key || '.' || member.key END AS key, member.value
      FROM jsonb_each(CASE jsonb_typeof(walk.value) WHEN 'object' THEN walk.value ELSE '{}' END) AS member
      UNION ALL
      SELECT walk.key, item
      FROM jsonb_array_elements(CASE jsonb_typeof(walk.value) WHEN 'array' THEN walk.value ELSE '[]' END) AS item
    ) AS part
  )
  SELECT walk.key, left(walk.value #>> '{}', 250) FROM walk
  WHERE length(walk.key) <= 250 AND jsonb_typeof(walk.value) IN ('string', 'number', 'boolean')
$$`,
};
