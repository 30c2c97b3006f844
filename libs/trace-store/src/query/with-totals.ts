import { inLimitedTransaction, type Pool, textTypes, TimeLimitError } from '#lib/postgres';
import { FENCE } from '../filter/filter-tables.js';
import type { RunRow } from '../run/stored-run.js';

/** A trace may have any number of runs; an answer does not wait for the sums of one that is too large. */
const TIME_LIMIT_MS = 2_000;

const SUMS = `sum(c.total_tokens) AS total_tokens, sum(c.prompt_tokens) AS prompt_tokens,
  sum(c.completion_tokens) AS completion_tokens, sum(c.total_cost) AS total_cost, sum(c.prompt_cost) AS prompt_cost,
  sum(c.completion_cost) AS completion_cost`;

/** Calls of models in the traces of these runs; to a root belong all of its trace, to another those below it. */
const QUERY = `
WITH p AS (
  SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::boolean[]) AS p(project_id, trace_id, id, is_root)
), c AS MATERIALIZED (
  SELECT t.project_id, t.trace_id, t.parent_run_ids, t.total_tokens, t.prompt_tokens, t.completion_tokens, t.total_cost,
    t.prompt_cost, t.completion_cost
  FROM (SELECT DISTINCT p.project_id, p.trace_id FROM p) AS d
  CROSS JOIN LATERAL (
    SELECT k.start_time, k.id FROM run_keys k
    WHERE k.tenant_id = $1 AND k.trace_id = d.trace_id AND k.project_id = d.project_id ${FENCE}
  ) k CROSS JOIN LATERAL (
    SELECT * FROM runs t WHERE t.tenant_id = $1 AND t.project_id = d.project_id AND t.start_time = k.start_time
      AND t.id = k.id AND t.trace_id = d.trace_id LIMIT 1
  ) t
  WHERE t.run_type = 'llm' AND (t.total_tokens IS NOT NULL OR t.total_cost IS NOT NULL)
)
SELECT p.trace_id, p.id, ${SUMS} FROM p JOIN c ON c.project_id = p.project_id AND c.trace_id = p.trace_id
WHERE p.is_root GROUP BY p.trace_id, p.id
UNION ALL
SELECT p.trace_id, p.id, ${SUMS}
FROM c CROSS JOIN LATERAL (SELECT DISTINCT a FROM unnest(c.parent_run_ids) AS a) AS a(id)
JOIN p ON p.project_id = c.project_id AND p.trace_id = c.trace_id AND p.id = a.id
WHERE NOT p.is_root GROUP BY p.trace_id, p.id`;

type TotalsRow = Readonly<
  Record<'trace_id' | 'id', string> &
    Record<
      | 'total_tokens'
      | 'prompt_tokens'
      | 'completion_tokens'
      | 'total_cost'
      | 'prompt_cost'
      | 'completion_cost',
      string | null
    >
>;

function isWithoutOwn({ runType, totalTokens, totalCost }: RunRow): boolean {
  return runType !== 'llm' && totalTokens === undefined && totalCost === undefined;
}

/**
 * Rows with the tokens and costs of the calls of models below them, where they have none of their own. Where adding them
 * up takes longer than two seconds they stay as they are.
 */
export async function withTotals(
  pool: Pool,
  tenantId: string,
  rows: readonly RunRow[],
): Promise<readonly RunRow[]> {
  const wanted = rows.filter(isWithoutOwn);
  if (wanted.length === 0) return rows;
  const values = [
    tenantId,
    wanted.map(({ projectId }) => projectId),
    wanted.map(({ traceId }) => traceId),
    wanted.map(({ id }) => id),
    wanted.map(({ isRoot }) => isRoot),
  ];
  try {
    const found = await inLimitedTransaction(pool, { limitMs: TIME_LIMIT_MS }, (client) =>
      client.query<TotalsRow>({ text: QUERY, values, types: textTypes }),
    );
    const totals = new Map(found.rows.map((row) => [`${row.trace_id} ${row.id}`, row] as const));
    return rows.map((row) => {
      const sums = totals.get(`${row.traceId} ${row.id}`);
      return sums && isWithoutOwn(row) ? { ...row, ...usageOf(sums) } : row;
    });
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    return rows;
  }
}

function usageOf(row: TotalsRow): Partial<RunRow> {
  const tokens = (text: string | null): number | undefined => (text === null ? undefined : Number(text));
  return {
    totalTokens: tokens(row.total_tokens),
    promptTokens: tokens(row.prompt_tokens),
    completionTokens: tokens(row.completion_tokens),
    totalCost: row.total_cost ?? undefined,
    promptCost: row.prompt_cost ?? undefined,
    completionCost: row.completion_cost ?? undefined,
  };
}
