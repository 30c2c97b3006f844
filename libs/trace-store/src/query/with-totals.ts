import { type Connection, textTypes, TimeLimitError, withinLimit } from '#lib/postgres';
import { FENCE } from '../filter/filter-tables.js';
import { type KeyTimes, timesOfTraces } from './key-times.js';
import { isCall, isSummedCall, isSummedCallSql } from '../run/own-usage.js';
import type { RunRow } from '../run/stored-run.js';
import { type TotalsRow, usageOf, withTraceTotals } from '../run/trace-totals.js';

/** A trace may have any number of runs; an answer does not wait for the sums of one that is too large. */
const TIME_LIMIT_MS = 2_000;

const SUMS = `sum(c.total_tokens) AS total_tokens, sum(c.prompt_tokens) AS prompt_tokens,
  sum(c.completion_tokens) AS completion_tokens, sum(c.total_cost) AS total_cost, sum(c.prompt_cost) AS prompt_cost,
  sum(c.completion_cost) AS completion_cost`;

/**
 * Calls of models below these runs, also if runs in between are missing.
 *
 * Keys give the times of a trace, so its partitions. Its rows are found by the trace: by the primary key,
 * which an equal project would make the planner choose, each of them would be a look-up of its own.
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
  SELECT t.* FROM unnest($2::uuid[], $3::uuid[]) AS d(project_id, trace_id)
  ${traces > 1 ? times : ''} CROSS JOIN LATERAL (
    SELECT t.project_id, t.trace_id, t.parent_run_ids, t.total_tokens, t.prompt_tokens, t.completion_tokens, t.total_cost,
      t.prompt_cost, t.completion_cost
    FROM runs t WHERE t.tenant_id = $1 AND t.trace_id = d.trace_id AND t.project_id IS NOT DISTINCT FROM d.project_id
      AND t.start_time >= $5 AND t.start_time <= $6 ${ofTrace}
      AND ${isSummedCallSql('t.run_type')} AND (t.total_tokens IS NOT NULL OR t.total_cost IS NOT NULL)
      AND t.parent_run_ids && $4::uuid[] ${FENCE}
  ) AS t
)
SELECT c.project_id, c.trace_id, a.id, ${SUMS}
FROM c CROSS JOIN LATERAL (
  SELECT DISTINCT a.id FROM unnest(c.parent_run_ids) AS a(id) WHERE a.id = ANY ($4::uuid[])
) AS a GROUP BY 1, 2, 3`;
}

function keyOf({ projectId, traceId, id }: RunRow): string {
  return `${projectId} ${traceId} ${id}`;
}

/** True when a run that is not a root has no usage of its own. */
function isWithoutOwn({ isRoot, runType, totalCost }: RunRow): boolean {
  return !isRoot && !isCall(runType) && (!isSummedCall(runType) || totalCost === undefined);
}

/**
 * Rows with the tokens and costs of the runs below them: roots with the totals of their traces, others that
 * have none of their own with the sums of the calls of models below them. If adding these up takes longer
 * than two seconds they stay as they are, and the transaction is aborted: nothing can be read after it.
 * @param db in a transaction
 * @param times range of the traces of all rows; looked up when absent
 */
export async function withTotals(
  db: Connection,
  tenantId: string,
  rows: readonly RunRow[],
  times?: KeyTimes,
): Promise<readonly RunRow[]> {
  const roots = rows.filter(({ isRoot }) => isRoot);
  const known = new Map((await withTraceTotals(db, tenantId, roots)).map((row) => [keyOf(row), row]));
  const summed = rows.map((row) => known.get(keyOf(row)) ?? row);
  const wanted = rows.filter(isWithoutOwn);
  if (wanted.length === 0) return summed;
  const traces = [...new Map(wanted.map((row) => [`${row.projectId} ${row.traceId}`, row])).values()];
  const ids = traces.map(({ traceId }) => traceId);
  try {
    const found = await withinLimit(db, TIME_LIMIT_MS, async () => {
      const lie = times ?? (await timesOfTraces(db, tenantId, ids));
      if (!lie) return [];
      const values = [
        tenantId,
        traces.map(({ projectId }) => projectId),
        ids,
        `{${wanted.map(({ id }) => id).join()}}`,
        lie.first,
        lie.last,
      ];
      type Row = TotalsRow & Readonly<Record<'project_id' | 'trace_id' | 'id', string>>;
      return (await db.query<Row>({ text: query(traces.length), values, types: textTypes })).rows;
    });
    const totals = new Map(found.map((row) => [`${row.project_id} ${row.trace_id} ${row.id}`, row]));
    return summed.map((row) => {
      const sums = totals.get(keyOf(row));
      return sums && isWithoutOwn(row) ? { ...row, ...usageOf(sums) } : row;
    });
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    return summed;
  }
}
