import { type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';

/** Feedback on a project's runs, and on the project itself: statistics by key, as JSON text. */
export interface ProjectFeedback {
  readonly runs: string | undefined;
  readonly project: string | undefined;
}

/**
 * The members are those of `feedback_stats`, for all feedback of a project instead of one run's. Samples are
 * chosen before they are gathered: a sort spills to the disk when it grows, while an array of all comments
 * would be held in the server's memory.
 */
const PROJECT_STATS = `
WITH said AS (
  SELECT f.project_id, f.run_id IS NULL AS is_own, f.key, f.score, f.is_error, f.created_at,
    left(f.comment, 200) AS comment, left(f.source, 100) AS source,
    f.score IS NOT NULL OR f.value_json IS NOT NULL AS is_judgement,
    CASE WHEN f.value_json LIKE '"%' THEN left(f.value, 100) END AS label
  FROM feedback f
  WHERE f.tenant_id = $1 AND f.project_id = ANY ($2::uuid[])
    AND (f.run_id IS NULL OR $3::timestamptz IS NULL OR f.start_time >= $3)
), labels AS (
  SELECT project_id, is_own, key, json_object_agg(label, times ORDER BY times DESC, label) AS times FROM (
    SELECT project_id, is_own, key, label, count(*) AS times, row_number() OVER (
      PARTITION BY project_id, is_own, key ORDER BY count(*) DESC, label) AS place
    FROM said WHERE label IS NOT NULL GROUP BY project_id, is_own, key, label
  ) l WHERE place <= 20 GROUP BY project_id, is_own, key
), comments AS (
  SELECT project_id, is_own, key, json_agg(comment ORDER BY place) AS some FROM (
    SELECT project_id, is_own, key, comment, row_number() OVER (
      PARTITION BY project_id, is_own, key ORDER BY created_at DESC) AS place
    FROM said WHERE comment IS NOT NULL
  ) c WHERE place <= 3 GROUP BY project_id, is_own, key
), sources AS (
  SELECT project_id, is_own, key, json_agg(source ORDER BY place) AS some FROM (
    SELECT project_id, is_own, key, source, row_number() OVER (
      PARTITION BY project_id, is_own, key ORDER BY source) AS place
    FROM said WHERE source IS NOT NULL GROUP BY project_id, is_own, key, source
  ) s WHERE place <= 5 GROUP BY project_id, is_own, key
), keys AS (
  SELECT project_id, is_own, key, count(*) FILTER (WHERE is_judgement) AS n, avg(score) AS avg,
    stddev_samp(score) AS stdev, min(score) AS min, max(score) AS max, count(*) FILTER (WHERE is_error) AS errors,
    row_number() OVER (PARTITION BY project_id, is_own ORDER BY count(*) DESC, key) AS place
  FROM said GROUP BY project_id, is_own, key
)
SELECT k.project_id, k.is_own, json_object_agg(k.key, json_build_object(
  'n', k.n, 'avg', k.avg, 'stdev', k.stdev, 'min', k.min, 'max', k.max, 'errors', k.errors,
  'values', coalesce(l.times, '{}'), 'comments', coalesce(c.some, '[]'),
  'sources', coalesce(s.some, '[]'), 'contains_thread_feedback', false
) ORDER BY k.key) AS stats
FROM keys k LEFT JOIN labels l USING (project_id, is_own, key) LEFT JOIN comments c USING (project_id, is_own, key)
  LEFT JOIN sources s USING (project_id, is_own, key)
WHERE k.place <= 1000 GROUP BY k.project_id, k.is_own`;

interface Row {
  readonly project_id: string;
  /** `t` or `f`. */
  readonly is_own: string;
  readonly stats: string;
}

/**
 * Sums up the feedback of projects of one tenant: of the 1,000 most frequent keys of each. Feedback that
 * waits for runs is not included.
 * @param from feedback of runs that began then or later
 */
export async function projectFeedbackStats(
  db: Queryable,
  tenantId: string,
  projectIds: readonly string[],
  from: Instant | undefined,
): Promise<ReadonlyMap<string, ProjectFeedback>> {
  const { rows } = await db.query<Row>({
    text: PROJECT_STATS,
    values: [tenantId, projectIds, from === undefined ? null : formatInstant(from)],
    types: textTypes,
  });
  const of = (id: string, isOwn: string) =>
    rows.find((row) => row.project_id === id && row.is_own === isOwn)?.stats;
  return new Map(projectIds.map((id) => [id, { runs: of(id, 'f'), project: of(id, 't') }]));
}

/** Feedback of a page, beyond which it ends: about 10 MB of statistics at the worst. One run has fewer. */
const MOST_OF_PAGE = 5_000;

/** JSON text by key; null where the page is to end before the run. Runs without feedback are not among them. */
type StatsOfPage = ReadonlyMap<number, string | null>;

const STATS = `
SELECT at::int, CASE WHEN before < $5 THEN feedback_stats($1, project_id, id, trace_id) END AS stats FROM (
  SELECT w.*, sum(w.n) OVER (ORDER BY w.at) - w.n AS before FROM (
    SELECT p.*, (
      SELECT count(*) FROM feedback f
      WHERE f.tenant_id = $1 AND f.run_id = p.id AND f.project_id = p.project_id AND f.trace_id = p.trace_id
    ) AS n FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) WITH ORDINALITY AS p(project_id, id, trace_id, at)
  ) w WHERE w.n > 0
) s`;

/** Statistics of the feedback of these runs of one tenant, by their places in the list. */
export async function feedbackStats(
  db: Queryable,
  tenantId: string,
  runs: readonly { readonly id: string; readonly traceId: string; readonly projectId: string }[],
): Promise<StatsOfPage> {
  if (runs.length === 0) return new Map();
  const { rows } = await db.query<{ at: number; stats: string | null }>(STATS, [
    tenantId,
    runs.map(({ projectId }) => projectId),
    runs.map(({ id }) => id),
    runs.map(({ traceId }) => traceId),
    MOST_OF_PAGE,
  ]);
  return new Map(rows.map(({ at, stats }) => [at - 1, stats]));
}
