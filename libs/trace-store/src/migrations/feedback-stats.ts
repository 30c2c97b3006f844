import type { Migration } from '#lib/postgres';

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
