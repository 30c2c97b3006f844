import type { Queryable } from '#lib/postgres';

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
