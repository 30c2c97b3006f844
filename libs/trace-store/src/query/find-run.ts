import {
  type Connection,
  inLimitedTransaction,
  inTransaction,
  type Pool,
  type Queryable,
  textTypes,
  TimeLimitError,
  withinLimit,
} from '#lib/postgres';
import { isUuid } from '#lib/resources';
import { formatInstant, type Instant } from '#lib/time';
import { feedbackStats } from '../feedback/feedback-stats.js';
import { FENCE } from '../filter/filter-sql.js';
import { databaseNow } from '../limited-read.js';
import { isCall, isSummedCall, isSummedCallSql } from '../run/own-usage.js';
import type { PayloadStore } from '../run/payload-store.js';
import { findPlaces, findRoots } from '../run/run-keys.js';
import { LATEST_END_HOURS, LONGEST_RUN_HOURS, selectRuns } from '../run/run-table.js';
import type { RunChildren, RunRow, StoredRun } from '../run/stored-run.js';
import { type TotalsRow, usageOf, withTraceTotals } from '../run/trace-totals.js';
import type { RunOptions } from '../trace-store.js';
import { type KeyTimes, type RunPageOptions, timesOfTraces } from './run-search.js';

/** A trace may have any number of runs; an answer does not wait for the children of one that is too large. */
const TIME_LIMIT_MS = 2_000;
/** Runs below those of an answer, and ids that are answered of them; beyond it no run has its children. */
const MOST_RUNS = 30_000;
const MOST_IDS = 60_000;
/** Bytes of an id, quoted, in an answer: once as a child, and again when it is a direct one. */
const BYTES_PER_ID = 2 * 39;

/** Times of each of some traces `d`; those of a single one are those that the statement is given. */
const TIMES = `CROSS JOIN LATERAL (
    SELECT min(k.start_time) AS first, max(k.start_time) AS last FROM run_keys k
    WHERE k.tenant_id = $1 AND k.trace_id = d.trace_id AND k.project_id = d.project_id
  ) AS k`;
const WITHIN_TIMES = 'AND t.start_time >= k.first AND t.start_time <= k.last';

/**
 * Runs below some run, of the traces of these, as one row for each run that has any. The first row says how many there
 * are; where they are too many it is the only one.
 *
 * Rows of a trace are found as in `withTotals`: between the times of its keys, by the trace. A run may have a thousand
 * ancestors, so those that are not asked for stay in the database.
 */
const childrenQuery = (traces: number): string => `
WITH below AS MATERIALIZED (
  SELECT d.project_id, d.trace_id, t.id, t.parent_run_id, t.dotted_order,
    ARRAY(SELECT DISTINCT a FROM unnest(t.parent_run_ids) AS a WHERE a = ANY ($4::uuid[])) AS above
  FROM unnest($2::uuid[], $3::uuid[]) AS d(project_id, trace_id)
  ${traces > 1 ? TIMES : ''} CROSS JOIN LATERAL (
    SELECT t.id, t.parent_run_id, t.parent_run_ids, t.dotted_order
    FROM runs t WHERE t.tenant_id = $1 AND t.trace_id = d.trace_id AND t.project_id IS NOT DISTINCT FROM d.project_id
      AND t.start_time >= $5 AND t.start_time <= $6 ${traces > 1 ? WITHIN_TIMES : ''}
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
 * @param times range of the traces of all runs; looked up when absent
 */
export async function withChildren(
  pool: Pool,
  tenantId: string,
  runs: readonly StoredRun[],
  { hold, times }: { readonly hold?: RunPageOptions['hold']; readonly times?: KeyTimes | undefined },
): Promise<readonly StoredRun[]> {
  if (runs.length === 0) return runs;
  const rows = runs.map(({ row }) => row);
  const traces = [...new Map(rows.map((row) => [traceOf(row), row])).values()];
  const ids = traces.map(({ traceId }) => traceId);
  let found: readonly ChildrenRow[];
  try {
    found = await inLimitedTransaction(pool, { limitMs: TIME_LIMIT_MS }, async (client) => {
      const lie = times ?? (await timesOfTraces(client, tenantId, ids));
      if (!lie) return [];
      const values = [
        tenantId,
        traces.map(({ projectId }) => projectId),
        ids,
        rows.map(({ id }) => id),
        lie.first,
        lie.last,
      ];
      const given = { text: childrenQuery(traces.length), values, types: textTypes };
      return (await client.query<ChildrenRow>(given)).rows;
    });
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    return runs;
  }
  const [first] = found;
  const count = Number(first?.ids ?? 0);
  if (Number(first?.runs ?? 0) > MOST_RUNS || count > MOST_IDS) return runs;
  hold?.(count * BYTES_PER_ID);
  const children = new Map(found.map((row) => [`${row.project_id} ${row.trace_id} ${row.id}`, row]));
  return runs.map((run) => {
    const { projectId, traceId, id } = run.row;
    return { ...run, children: childrenOf(children.get(`${projectId} ${traceId} ${id}`)) };
  });
}

function childrenOf(row: ChildrenRow | undefined): RunChildren {
  return { all: row?.all_ids.split(',') ?? [], direct: row?.direct_ids?.split(',') ?? [] };
}

const HOUR = 3_600_000_000n;

const ENDED_ROOTS = `
SELECT t.project_id, t.trace_id FROM runs t
WHERE t.tenant_id = $1 AND t.trace_id = ANY ($2) AND t.start_time >= $3 AND t.start_time <= $4 AND t.is_root
  AND t.end_time < $5`;

/**
 * Rows of runs whose process died are shown as interrupted: those that are pending a day after their start, or an hour after
 * the end of their root. Nothing is written, so an end that comes later counts.
 */
export async function withInterrupted(
  db: Queryable,
  tenantId: string,
  rows: readonly RunRow[],
): Promise<readonly RunRow[]> {
  const isPending = ({ status, endTime }: RunRow): boolean => status === 'pending' && endTime === undefined;
  if (!rows.some(isPending)) return rows;
  const now = await databaseNow(db);
  const isOld = ({ startTime }: RunRow): boolean => startTime < now - LONGEST_RUN_HOURS * HOUR;
  const left = rows.filter((row) => isPending(row) && !isOld(row) && !row.isRoot);
  const ended = await endedTraces(db, tenantId, left, now - LATEST_END_HOURS * HOUR);
  return rows.map((row) =>
    isPending(row) && (isOld(row) || (!row.isRoot && ended.has(traceOf(row))))
      ? { ...row, status: 'interrupted' }
      : row,
  );
}

function traceOf({ projectId, traceId }: Pick<RunRow, 'projectId' | 'traceId'>): string {
  return `${projectId} ${traceId}`;
}

/** Traces of these rows whose root ended before. */
async function endedTraces(
  db: Queryable,
  tenantId: string,
  rows: readonly RunRow[],
  before: Instant,
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(rows.map(({ traceId }) => traceId))];
  const times = ids.length === 0 ? undefined : await timesOfTraces(db, tenantId, ids);
  if (!times) return new Set();
  const found = await db.query<Readonly<Record<'project_id' | 'trace_id', string>>>(ENDED_ROOTS, [
    tenantId,
    ids,
    times.first,
    times.last,
    formatInstant(before),
  ]);
  return new Set(found.rows.map((row) => traceOf({ projectId: row.project_id, traceId: row.trace_id })));
}

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
  return `
WITH c AS MATERIALIZED (
  SELECT t.* FROM unnest($2::uuid[], $3::uuid[]) AS d(project_id, trace_id)
  ${traces > 1 ? TIMES : ''} CROSS JOIN LATERAL (
    SELECT t.project_id, t.trace_id, t.parent_run_ids, t.total_tokens, t.prompt_tokens, t.completion_tokens, t.total_cost,
      t.prompt_cost, t.completion_cost
    FROM runs t WHERE t.tenant_id = $1 AND t.trace_id = d.trace_id AND t.project_id IS NOT DISTINCT FROM d.project_id
      AND t.start_time >= $5 AND t.start_time <= $6 ${traces > 1 ? WITHIN_TIMES : ''}
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

/**
 * The run with its payloads, or the root of the trace of that id; undefined also for another tenant's. For an
 * id that occurs in several traces, any of them is returned.
 */
export async function findRun(
  db: Queryable,
  payloads: Pick<PayloadStore, 'get' | 'size'>,
  { tenantId, id, projectId, hold }: { readonly tenantId: string; readonly id: string } & RunOptions,
): Promise<StoredRun | undefined> {
  if (!isUuid(id)) return undefined;
  const wanted = id.toLowerCase();
  const [found] = await findPlaces(db, tenantId, [{ id: wanted, traceId: undefined }], { projectId });
  const scope = projectId === undefined ? undefined : [projectId];
  const place = found ?? (await findRoots(db, tenantId, [wanted], scope)).get(wanted);
  const isHidden = projectId !== undefined && place?.projectId !== projectId;
  const [row] = place && !isHidden ? await selectRuns(db, tenantId, [place]) : [];
  if (!row) return undefined;
  hold?.(await payloads.size(db, row));
  const stats = (await feedbackStats(db, tenantId, [row])).get(0) ?? undefined;
  return { row, payloads: await payloads.get(db, row), feedbackStats: stats };
}

/** The same, with totals on request. */
export async function readRun(
  pool: Pool,
  payloads: Pick<PayloadStore, 'get' | 'size'>,
  options: { readonly tenantId: string; readonly id: string } & RunOptions,
): Promise<StoredRun | undefined> {
  const found = await findRun(pool, payloads, options);
  if (!found) return undefined;
  const ended = await withInterrupted(pool, options.tenantId, [found.row]);
  const [row = found.row] = options.totals
    ? await inTransaction(pool, (db) => withTotals(db, options.tenantId, ended), ['BEGIN READ ONLY'])
    : ended;
  const run = { ...found, row };
  return options.children
    ? (await withChildren(pool, options.tenantId, [run], { hold: options.hold }))[0]
    : run;
}
