import { inLimitedTransaction, type Pool, textTypes, TimeLimitError } from '#lib/postgres';
import { FENCE } from '../filter/filter-tables.js';
import type { RunChildren, RunRow, StoredRun } from '../run/stored-run.js';

/** A trace may have any number of runs; an answer does not wait for the children of one that is too large. */
const TIME_LIMIT_MS = 2_000;
/** Runs below those of an answer, and ids that are answered of them; beyond it no run has its children. */
const MOST_RUNS = 30_000;
const MOST_IDS = 60_000;

/** Runs below some run, of the traces of these. */
const QUERY = `
SELECT t.trace_id, t.id, t.parent_run_id, t.parent_run_ids
FROM (SELECT DISTINCT * FROM unnest($2::uuid[], $3::uuid[]) AS d(project_id, trace_id)) AS d
CROSS JOIN LATERAL (
  SELECT k.start_time, k.id FROM run_keys k
  WHERE k.tenant_id = $1 AND k.trace_id = d.trace_id AND k.project_id = d.project_id ${FENCE}
) k CROSS JOIN LATERAL (
  SELECT * FROM runs t WHERE t.tenant_id = $1 AND t.project_id = d.project_id AND t.start_time = k.start_time
    AND t.id = k.id AND t.trace_id = d.trace_id LIMIT 1
) t
WHERE t.parent_run_ids && $4::uuid[]
ORDER BY t.dotted_order COLLATE "C" LIMIT ${MOST_RUNS + 1}`;

interface ChildRow {
  readonly trace_id: string;
  readonly id: string;
  readonly parent_run_id: string | null;
  readonly parent_run_ids: readonly string[];
}

/**
 * Runs with the ids of those below them, in the order of the trace. Where the trace is too large, or reading it takes
 * longer than two seconds, they stay without.
 */
export async function withChildren(
  pool: Pool,
  tenantId: string,
  runs: readonly StoredRun[],
): Promise<readonly StoredRun[]> {
  if (runs.length === 0) return runs;
  const rows = runs.map(({ row }) => row);
  const values = [
    tenantId,
    rows.map(({ projectId }) => projectId),
    rows.map(({ traceId }) => traceId),
    rows.map(({ id }) => id),
  ];
  try {
    const found = await inLimitedTransaction(pool, { limitMs: TIME_LIMIT_MS }, (client) =>
      client.query<ChildRow>({ text: QUERY, values, types: textTypes }),
    );
    const children = found.rows.length > MOST_RUNS ? undefined : gather(rows, found.rows);
    return children ? runs.map((run, at) => ({ ...run, children: children[at] })) : runs;
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    return runs;
  }
}

/** @returns undefined where they are too many */
function gather(rows: readonly RunRow[], below: readonly ChildRow[]): readonly RunChildren[] | undefined {
  const all = rows.map((): { all: string[]; direct: string[] } => ({ all: [], direct: [] }));
  const places = new Map(rows.map(({ traceId, id }, at) => [`${traceId} ${id}`, at]));
  let ids = 0;
  for (const { trace_id: traceId, id, parent_run_id: parentId, parent_run_ids: ancestors } of below)
    for (const ancestor of new Set(ancestors)) {
      const of = all[places.get(`${traceId} ${ancestor}`) ?? -1];
      if (!of) continue;
      if (++ids > MOST_IDS) return undefined;
      of.all.push(id);
      if (ancestor === parentId) of.direct.push(id);
    }
  return all;
}
