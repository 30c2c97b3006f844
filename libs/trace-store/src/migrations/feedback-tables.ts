import type { Migration } from '#lib/postgres';

/** Configurations of feedback keys, by workspace. */
export const feedbackConfigs: Migration = {
  version: 30,
  name: 'configurations of feedback',
  sql: `
CREATE TABLE feedback_configs (
  tenant_id             uuid NOT NULL,
  key                   text NOT NULL,
  id                    uuid NOT NULL,
  -- JSON text
  config                text NOT NULL,
  is_lower_score_better boolean NOT NULL,
  modified_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, key)
);
`,
};

/**
 * Feedback in exports: the resource that a run exports at present, the resource of each file, and feedback in
 * the order of its runs.
 */
export const feedbackExports: Migration = {
  version: 35,
  name: 'feedback in exports',
  sql: `
ALTER TABLE export_progress
  ADD resource text NOT NULL DEFAULT 'runs' CHECK (resource IN ('runs', 'feedback')),
  ADD feedback_rows bigint NOT NULL DEFAULT 0;
ALTER TABLE export_files ADD resource text NOT NULL DEFAULT 'runs' CHECK (resource IN ('runs', 'feedback'));
CREATE INDEX feedback_time ON feedback (tenant_id, project_id, start_time, id) WHERE run_id IS NOT NULL;
`,
};

/** Members that clients send with feedback beside its key, score and value, and the run that it waits for. */
export const feedbackMembers: Migration = {
  version: 13,
  name: 'members of feedback',
  sql: `
ALTER TABLE feedback
  -- what the sender said of the run; where the run lies stands in project_id, trace_id and start_time
  ADD named_project_id uuid,
  ADD named_trace_id uuid,
  ADD named_start_time timestamptz,
  -- null once it has met its run, and for feedback of a project
  ADD waits_since timestamptz,
  -- the score was true or false, stored as 1 or 0
  ADD is_flag boolean NOT NULL DEFAULT false,
  ADD is_error boolean,
  -- JSON texts as they came; value has the text of one that is no object or list
  ADD value_json text,
  ADD source_json text,
  ADD config text,
  ADD extra text,
  ADD extends_retention boolean,
  ADD comparative_experiment_id uuid,
  ADD feedback_group_id uuid;
-- what waits is little, and looked for with every batch of runs
CREATE INDEX feedback_waiting ON feedback (tenant_id, run_id) WHERE waits_since IS NOT NULL;
-- lists are in the order of creation
CREATE INDEX feedback_created ON feedback (tenant_id, created_at, id);
`,
};

/** Statistics of a run's feedback by key, as JSON text; null for a run without any. */
export const feedbackStats: Migration = {
  version: 16,
  name: 'statistics of feedback',
  // samples are bounded: a run may have a thousand keys, labels and comments
  sql: `
CREATE FUNCTION feedback_stats(tenant uuid, project uuid, run uuid, trace uuid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  WITH said AS MATERIALIZED (
    SELECT key, score, is_error, left(comment, 200) AS comment, left(source, 100) AS source,
      score IS NOT NULL OR value_json IS NOT NULL AS is_judgement,
      CASE WHEN value_json LIKE '"%' THEN left(value, 100) END AS label,
      row_number() OVER (PARTITION BY key ORDER BY (comment IS NULL), created_at DESC, id) AS place
    FROM feedback
    WHERE tenant_id = tenant AND run_id = run AND project_id = project AND trace_id = trace
  ), labels AS (
    SELECT key, json_object_agg(label, times ORDER BY times DESC, label) AS times FROM (
      SELECT key, label, count(*) AS times,
        row_number() OVER (PARTITION BY key ORDER BY count(*) DESC, label) AS place
      FROM said WHERE label IS NOT NULL GROUP BY key, label
    ) l WHERE place <= 20 GROUP BY key
  )
  SELECT json_object_agg(key, stats ORDER BY key)::text FROM (
    SELECT s.key, json_build_object(
      'n', count(*) FILTER (WHERE is_judgement),
      'avg', avg(score), 'stdev', stddev_samp(score), 'min', min(score), 'max', max(score),
      'errors', count(*) FILTER (WHERE is_error),
      'values', coalesce((array_agg(l.times))[1], '{}'),
      'comments', coalesce(json_agg(comment ORDER BY place) FILTER (WHERE comment IS NOT NULL AND place <= 3), '[]'),
      'sources', coalesce(to_json((array_agg(DISTINCT source) FILTER (WHERE source IS NOT NULL))[1:5]), '[]'),
      'contains_thread_feedback', false
    ) AS stats
    FROM said s LEFT JOIN labels l ON l.key = s.key GROUP BY s.key
  ) k
$$;
`,
};

/** Leave to give feedback to one run without a key. */
export const feedbackTokens: Migration = {
  version: 20,
  name: 'tokens of feedback',
  sql: `
CREATE TABLE feedback_tokens (
  tenant_id   uuid NOT NULL,
  id          uuid NOT NULL,
  -- SHA-256 of the token, which is nowhere else
  hash        bytea NOT NULL,
  run_id      uuid NOT NULL,
  -- the only project whose run it is for; null: of any
  project_id  uuid,
  key         text NOT NULL,
  config      text,
  -- of the feedback that is given with it; null: each has an id of its own
  feedback_id uuid,
  expires_at  timestamptz NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX feedback_tokens_hash ON feedback_tokens (hash);
CREATE INDEX feedback_tokens_run ON feedback_tokens (tenant_id, run_id, created_at);
CREATE INDEX feedback_tokens_end ON feedback_tokens (expires_at);
`,
};

/** A key that tokens of feedback are signed with; those whose runs have not arrived are counted. */
export const signedFeedbackTokens: Migration = {
  version: 29,
  name: 'signed tokens of feedback',
  sql: `
-- keys that all processes of the platform share
CREATE TABLE signing_keys (
  name text PRIMARY KEY,
  key  bytea NOT NULL
);
INSERT INTO signing_keys VALUES ('feedback tokens', sha256(convert_to(
  gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
-- they are not signed, and would not be known any more
DELETE FROM feedback_tokens;
-- the run had not arrived when the token was made, or last looked for
ALTER TABLE feedback_tokens ADD COLUMN waits boolean NOT NULL;
CREATE INDEX feedback_tokens_waiting ON feedback_tokens (tenant_id) WHERE waits;
`,
};
