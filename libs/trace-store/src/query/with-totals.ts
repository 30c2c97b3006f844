import { type Connection, textTypes, TimeLimitError, withinLimit } from '#lib/postgres';
import { FENCE } from '../filter/filter-tables.js';
import { type KeyTimes, timesOfTraces } from './key-times.js';
import { isCall, isSummedCall, isSummedCallSql } from '../run/own-usage.js';
import type { RunRow } from '../run/stored-run.js';

/** A trace may have any number of runs; an answer does not wait for the sums of one that is too large. */
const TIME_LIMIT_MS = 2_000;

const SUMS = `sum(c.total_tokens) AS total_tokens, sum(c.prompt_tokens) AS prompt_tokens,
  sum(c.completion_tokens) AS completion_tokens, sum(c.total_cost) AS total_cost, sum(c.prompt_cost) AS prompt_cost,
  sum(c.completion_cost) AS completion_cost`;

/**
 * Calls of models in the traces of these runs; to a root belong all of its trace (`id` is null), to another those below it,
 * also where runs in between are missing.
 *
 * Keys say between which times a trace lies, so its partitions. Its rows are found by the trace: by the primary key, which
 * an equal project would make the planner choose, each of them would be a look-up of its own.
 */
function query(traces: number): string {
  // the times of a single trace are those that the statement is given
  const times = `CROSS JOIN LATERAL (
    SELECT min(k.start_time) AS first, max(k.start_time) AS last FROM run_keys k
    WHERE k.tenant_id = $1 AND k.trace_id = d.trace_id AND k.project_id = d.project_id
  ) AS k`;
  const ofTrace = traces > 1 ? 'AND t.start_time >= k.first AND t.start_time <= k.last' : '';
  return `
WITH c AS MATERIALIZED (
  SELECT d.is_whole, t.* FROM unnest($2::uuid[], $3::uuid[], $4::boolean[]) AS d(project_id, trace_id, is_whole)
  ${traces > 1 ? times : ''} CROSS JOIN LATERAL (
    SELECT t.project_id, t.trace_id, t.parent_run_ids, t.total_tokens, t.prompt_tokens, t.completion_tokens, t.total_cost,
      t.prompt_cost, t.completion_cost
    FROM runs t WHERE t.tenant_id = $1 AND t.trace_id = d.trace_id AND t.project_id IS NOT DISTINCT FROM d.project_id
      AND t.start_time >= $6 AND t.start_time <= $7 ${ofTrace}
      AND ${isSummedCallSql('t.run_type')} AND (t.total_tokens IS NOT NULL OR t.total_cost IS NOT NULL)
      AND (d.is_whole OR t.parent_run_ids && $5::uuid[]) ${FENCE}
  ) AS t
)
SELECT c.project_id, c.trace_id, NULL::uuid AS id, ${SUMS} FROM c WHERE c.is_whole GROUP BY 1, 2
UNION ALL
SELECT c.project_id, c.trace_id, a.id, ${SUMS}
FROM c CROSS JOIN LATERAL (
  SELECT DISTINCT a.id FROM unnest(c.parent_run_ids) AS a(id) WHERE a.id = ANY ($5::uuid[])
) AS a GROUP BY 1, 2, 3`;
}

type TotalsRow = Readonly<
  Record<'project_id' | 'trace_id', string> &
    Record<
      | 'id'
      | 'total_tokens'
      | 'prompt_tokens'
      | 'completion_tokens'
      | 'total_cost'
      | 'prompt_cost'
      | 'completion_cost',
      string | null
    >
>;

function isWithoutOwn({ runType, totalCost }: RunRow): boolean {
  return !isCall(runType) && (!isSummedCall(runType) || totalCost === undefined);
}

/** A trace in one project, and whether all of it is wanted. */
interface SummedTrace {
  readonly projectId: string;
  readonly traceId: string;
  readonly isWhole: boolean;
}

function tracesOf(rows: readonly RunRow[]): readonly SummedTrace[] {
  const traces = new Map<string, SummedTrace>();
  for (const { projectId, traceId, isRoot } of rows) {
    const isWhole = isRoot || traces.get(`${projectId} ${traceId}`)?.isWhole === true;
    traces.set(`${projectId} ${traceId}`, { projectId, traceId, isWhole });
  }
  return [...traces.values()];
}

/**
 * Rows with the tokens and costs of the calls of models below them, where they have none of their own. Where adding them
 * up takes longer than two seconds they stay as they are, and the transaction is aborted: nothing can be read after it.
 * @param db in a transaction
 * @param times between which the traces of all rows lie; they are looked for when absent
 */
export async function withTotals(
  db: Connection,
  tenantId: string,
  rows: readonly RunRow[],
  times?: KeyTimes,
): Promise<readonly RunRow[]> {
  const wanted = rows.filter(isWithoutOwn);
  if (wanted.length === 0) return rows;
  const traces = tracesOf(wanted);
  const ids = traces.map(({ traceId }) => traceId);
  try {
    const found = await withinLimit(db, TIME_LIMIT_MS, async () => {
      const lie = times ?? (await timesOfTraces(db, tenantId, ids));
      if (!lie) return [];
      const values = [
        tenantId,
        traces.map(({ projectId }) => projectId),
        ids,
        traces.map(({ isWhole }) => isWhole),
        `{${wanted.flatMap(({ isRoot, id }) => (isRoot ? [] : [id])).join()}}`,
        ...[lie.first, lie.last],
      ];
      return (await db.query<TotalsRow>({ text: query(traces.length), values, types: textTypes })).rows;
    });
    const totals = new Map(
      found.map((row) => [`${row.project_id} ${row.trace_id} ${row.id ?? ''}`, row] as const),
    );
    return rows.map((row) => {
      const sums = totals.get(`${row.projectId} ${row.traceId} ${row.isRoot ? '' : row.id}`);
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
