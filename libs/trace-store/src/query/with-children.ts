import { inLimitedTransaction, type Pool, textTypes, TimeLimitError } from '#lib/postgres';
import { FENCE } from '../filter/filter-tables.js';
import { timesOfTraces } from './key-times.js';
import type { RunChildren, StoredRun } from '../run/stored-run.js';

/** A trace may have any number of runs; an answer does not wait for the children of one that is too large. */
const TIME_LIMIT_MS = 2_000;
/** Runs below those of an answer, and ids that are answered of them; beyond it no run has its children. */
const MOST_RUNS = 30_000;
const MOST_IDS = 60_000;
/** Bytes of an id, quoted, in an answer: once as a child, and again when it is a direct one. */
const BYTES_PER_ID = 2 * 39;

/**
 * Runs below some run, of the traces of these, as one row for each run that has any. The first row says how many there
 * are; where they are too many it is the only one.
 *
 * Rows of a trace are found as in `withTotals`: between the times of its keys, by the trace. A run may have a thousand
 * ancestors, so those that are not asked for stay in the database.
 */
const QUERY = `
WITH below AS MATERIALIZED (
  SELECT d.project_id, d.trace_id, t.id, t.parent_run_id, t.dotted_order,
    ARRAY(SELECT DISTINCT a FROM unnest(t.parent_run_ids) AS a WHERE a = ANY ($4::uuid[])) AS above
  FROM (SELECT DISTINCT * FROM unnest($2::uuid[], $3::uuid[]) AS d(project_id, trace_id)) AS d
  CROSS JOIN LATERAL (
    SELECT min(k.start_time) AS first, max(k.start_time) AS last FROM run_keys k
    WHERE k.tenant_id = $1 AND k.trace_id = d.trace_id AND k.project_id = d.project_id
  ) AS k CROSS JOIN LATERAL (
    SELECT t.id, t.parent_run_id, t.parent_run_ids, t.dotted_order
    FROM runs t WHERE t.tenant_id = $1 AND t.trace_id = d.trace_id AND t.project_id IS NOT DISTINCT FROM d.project_id
      AND t.start_time >= k.first AND t.start_time <= k.last AND t.start_time >= $5 AND t.start_time <= $6
      AND t.parent_run_ids && $4::uuid[] ${FENCE}
  ) AS t LIMIT ${MOST_RUNS + 1}
), counted AS MATERIALIZED (SELECT count(*) AS runs, sum(cardinality(above)) AS ids FROM below)
SELECT c.runs, c.ids, b.* FROM counted c LEFT JOIN LATERAL (
  SELECT project_id, trace_id, a AS id, string_agg(id::text, ',' ORDER BY dotted_order COLLATE "C") AS all_ids,
    string_agg(id::text, ',' ORDER BY dotted_order COLLATE "C") FILTER (WHERE parent_run_id = a) AS direct_ids
  FROM below CROSS JOIN LATERAL unnest(above) AS a
  WHERE c.runs <= ${MOST_RUNS} AND c.ids <= ${MOST_IDS}
  GROUP BY project_id, trace_id, a
) AS b ON true`;

/** Numbers and lists are texts. */
interface ChildrenRow {
  readonly runs: string;
  /** Null without any run. */
  readonly ids: string | null;
  /** Null when there is no run, or too many. */
  readonly project_id: string | null;
  readonly trace_id: string | null;
  readonly id: string;
  readonly all_ids: string;
  readonly direct_ids: string | null;
}

/**
 * Runs with the ids of those below them, in the order of the trace. If the trace is too large, or reading it
 * takes longer than two seconds, they stay without.
 * @param hold receives the bytes that the ids take in an answer
 */
export async function withChildren(
  pool: Pool,
  tenantId: string,
  runs: readonly StoredRun[],
  hold?: (bytes: number) => void,
): Promise<readonly StoredRun[]> {
  if (runs.length === 0) return runs;
  const rows = runs.map(({ row }) => row);
  const values = [
    tenantId,
    rows.map(({ projectId }) => projectId),
    rows.map(({ traceId }) => traceId),
    rows.map(({ id }) => id),
  ];
  let found: readonly ChildrenRow[];
  try {
    found = await inLimitedTransaction(pool, { limitMs: TIME_LIMIT_MS }, async (client) => {
      const traces = [...new Set(rows.map(({ traceId }) => traceId))];
      const times = await timesOfTraces(client, tenantId, traces);
      if (!times) return [];
      const given = { text: QUERY, values: [...values, times.first, times.last], types: textTypes };
      return (await client.query<ChildrenRow>(given)).rows;
    });
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    return runs;
  }
  const [first] = found;
  const ids = Number(first?.ids ?? 0);
  if (Number(first?.runs ?? 0) > MOST_RUNS || ids > MOST_IDS) return runs;
  hold?.(ids * BYTES_PER_ID);
  const children = new Map(found.map((row) => [`${row.project_id} ${row.trace_id} ${row.id}`, row]));
  return runs.map((run) => {
    const { projectId, traceId, id } = run.row;
    return { ...run, children: childrenOf(children.get(`${projectId} ${traceId} ${id}`)) };
  });
}

function childrenOf(row: ChildrenRow | undefined): RunChildren {
  return { all: row?.all_ids.split(',') ?? [], direct: row?.direct_ids?.split(',') ?? [] };
}
