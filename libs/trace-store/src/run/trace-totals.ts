import { type Connection, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import { MICROS_PER_HOUR, recordChange } from '../statistics/run-statistics-table.js';
import { unitsOf } from '../statistics/sums.js';
import { hasUsage, hasUsageSql, isSummedCall, isSummedCallSql, withoutUsage } from './own-usage.js';
import { findPlaces, runKey } from './run-keys.js';
import { selectRuns, updateRuns } from './run-table.js';
import { COLUMN_LIST, type ColumnsWith, type RunPlace, type RunRow, timeBounds } from './stored-run.js';

/** A call that states a usage, with its place and its ancestors. */
type StandingCall = RunPlace & Pick<RunRow, 'parentRunIds'> & Partial<Pick<RunRow, 'endTime'>>;

/** Clocks of parents and children differ. */
const SKEW: Instant = MICROS_PER_HOUR;

/**
 * Children of the run in row `o` that are in its project and trace. They are found by their parent: by the
 * primary key, which an equal project would make the planner choose, all runs of the time would be read.
 */
const childrenOf = (o: string): string =>
  `(SELECT t.id, t.trace_id, t.project_id, ${hasUsageSql('t')} AS is_call FROM runs t
      WHERE t.tenant_id = $1 AND t.parent_run_id = ${o}.id AND t.trace_id IS NOT DISTINCT FROM ${o}.trace_id
        AND t.project_id IS NOT DISTINCT FROM ${o}.project_id AND t.start_time >= $2 AND t.start_time <= $3 OFFSET 0)`;

const CALLS = 'unnest($4::uuid[], $5::uuid[], $6::uuid[]) AS c(project_id, id, trace_id)';

/** Selects the given calls that have any child. They are few, and found without recursion. */
const WITH_CHILDREN = `SELECT c.id, c.trace_id FROM ${CALLS} WHERE EXISTS ${childrenOf('c')}`;

/** Selects the given calls that have another call below them. */
const ABOVE_CALLS = `SELECT c.id, c.trace_id FROM ${CALLS} WHERE EXISTS (
  WITH RECURSIVE below AS (
    ${childrenOf('c')}
    UNION
    SELECT t.* FROM below b CROSS JOIN LATERAL ${childrenOf('b')} t WHERE NOT b.is_call
  ) SELECT FROM below WHERE is_call
)`;

/** Selects the given runs that are calls with a usage. */
const ARE_CALLS = `
SELECT k.id, k.trace_id FROM (SELECT DISTINCT * FROM unnest($2::uuid[], $3::uuid[]) AS a(id, trace_id)) a
JOIN run_keys k ON k.tenant_id = $1 AND k.id = a.id AND k.trace_id = a.trace_id
CROSS JOIN LATERAL (
  SELECT FROM runs r WHERE r.tenant_id = $1 AND r.project_id = k.project_id AND r.start_time = k.start_time
    AND r.id = k.id AND r.trace_id = k.trace_id AND ${hasUsageSql('r')} OFFSET 0
) r`;

interface FoundRow {
  readonly id: string;
  readonly trace_id: string;
}

async function findAbove(
  client: Connection,
  tenantId: string,
  calls: readonly StandingCall[],
  others: ReadonlySet<string>,
): Promise<readonly FoundRow[]> {
  const above = calls.flatMap(({ traceId, parentRunIds }) =>
    parentRunIds.flatMap((id) => (others.has(runKey({ id, traceId })) ? [] : [{ id, traceId }])),
  );
  if (above.length === 0) return [];
  const values = [tenantId, above.map(({ id }) => id), above.map(({ traceId }) => traceId)];
  return (await client.query<FoundRow>(ARE_CALLS, values)).rows;
}

async function findWithCallsBelow(
  client: Connection,
  tenantId: string,
  calls: readonly StandingCall[],
): Promise<readonly FoundRow[]> {
  let [from, to] = [calls[0]?.startTime ?? 0n, calls[0]?.startTime ?? 0n];
  for (const { startTime, endTime = startTime } of calls) {
    if (startTime < from) from = startTime;
    if (endTime > to) to = endTime;
  }
  const find = async (text: string, some: readonly StandingCall[]): Promise<readonly FoundRow[]> => {
    const { rows } = await client.query<FoundRow>(text, [
      tenantId,
      formatInstant(from - SKEW),
      formatInstant(to + SKEW),
      some.map(({ projectId }) => projectId),
      some.map(({ id }) => id),
      some.map(({ traceId }) => traceId),
    ]);
    return rows;
  };
  const parents = new Set(
    (await find(WITH_CHILDREN, calls)).map((row) => runKey({ id: row.id, traceId: row.trace_id })),
  );
  const some = calls.filter((call) => parents.has(runKey(call)));
  return some.length === 0 ? [] : find(ABOVE_CALLS, some);
}

/**
 * Takes the usage from calls that other calls were made by: both state the same one, and the innermost has it. It stays in
 * the outputs and the metadata.
 *
 * To be called in the transaction that stored these calls, when it has locked the totals of their traces: of two
 * transactions that store an outer and an inner call, the second one finds what the first has stored.
 * @param calls that state a usage now
 * @param others runs that are known to be no calls with a usage, as `runKey` spells them
 * @returns the rows whose usage was taken, as they were
 */
async function takeOuterUsage(
  client: Connection,
  tenantId: string,
  calls: readonly StandingCall[],
  others: ReadonlySet<string> = new Set(),
): Promise<readonly RunRow[]> {
  if (calls.length === 0) return [];
  const outer = [
    ...(await findAbove(client, tenantId, calls, others)),
    ...(await findWithCallsBelow(client, tenantId, calls)),
  ].map((row) => ({ id: row.id, traceId: row.trace_id }));
  if (outer.length === 0) return [];
  const wanted = [...new Map(outer.map((run) => [runKey(run), run])).values()];
  const places = await findPlaces(client, tenantId, wanted, { lock: true });
  const projects = new Set(calls.map(({ projectId, traceId }) => `${projectId} ${traceId}`));
  const own = places.filter(
    (place) => place !== undefined && projects.has(`${place.projectId} ${place.traceId}`),
  ) as RunPlace[];
  const before = await selectRuns(client, tenantId, own);
  const after = before.map(withoutUsage);
  await updateRuns(client, tenantId, before, after, () => false);
  await recordChange(client, tenantId, before, after);
  return before;
}

export type TotalColumn = ColumnsWith<{ isTotal: true }>;
/** Columns of `trace_totals` that are sums, each with how many calls state it. */
const TOTALS = COLUMN_LIST.flatMap(({ name, isTotal }) => (isTotal ? [name as TotalColumn] : []));

export function isTotalColumn(name: string): name is TotalColumn {
  return TOTALS.some((column) => column === name);
}

const COUNTS = TOTALS.map((name) => `${name}_calls`);
const KEY = 'tenant_id, project_id, trace_id';

/** A difference that meets a row of its trace is added to it: a sum of no call is null. */
const ADD = `ON CONFLICT (tenant_id, trace_id, project_id) DO UPDATE SET
  ${TOTALS.map(
    (name) => `${name} = CASE WHEN t.${name}_calls + excluded.${name}_calls > 0
      THEN coalesce(t.${name}, 0) + coalesce(excluded.${name}, 0) END,
    ${name}_calls = t.${name}_calls + excluded.${name}_calls`,
  ).join(',\n  ')}, changed_in = pg_current_xact_id()`;

/**
 * Insert in the order of the key: transactions of the same traces wait for one another instead of
 * deadlocking.
 */
const INSERT = `INSERT INTO trace_totals AS t (${KEY}, ${[...TOTALS, ...COUNTS].join(', ')})`;

/** Parts of a cost that are added up as whole numbers. */
const UNIT = '0.0000000001';

const ADD_DIFFERENCES = `${INSERT}
SELECT $1, d.project_id, d.trace_id,
  ${TOTALS.map((name) => (name.endsWith('cost') ? `d.${name} * ${UNIT}` : `d.${name}`)).join(', ')},
  ${COUNTS.map((name) => `d.${name}`).join(', ')}
FROM unnest($2::uuid[], $3::uuid[], ${[...TOTALS, ...COUNTS]
  .map((_name, at) => `$${at + 4}::${at < TOTALS.length ? 'numeric' : 'bigint'}[]`)
  .join(', ')}) AS d(project_id, trace_id, ${[...TOTALS, ...COUNTS].join(', ')})
ORDER BY d.trace_id, d.project_id ${ADD}
RETURNING project_id, trace_id, ARRAY[${COUNTS.map((name) => `t.${name}`).join(', ')}] AS counts`;

/** Numbers of calls of a trace that state each of the totals, after a change. */
interface CountsRow {
  readonly project_id: string;
  readonly trace_id: string;
  readonly counts: readonly (string | number)[];
}

function traceKey({ projectId, traceId }: Pick<RunRow, 'projectId' | 'traceId'>): string {
  return `${traceId} ${projectId}`;
}

interface Difference {
  readonly projectId: string;
  readonly traceId: string;
  /** Sums in the order of `TOTALS`; costs in units. */
  readonly sums: bigint[];
  readonly counts: number[];
}

function isNothing({ sums, counts }: Difference): boolean {
  return sums.every((sum) => sum === 0n) && counts.every((count) => count === 0);
}

/** Sum of a difference; null when nothing states it. */
function sumAt({ sums, counts }: Difference, at: number): string | null {
  return sums[at] === 0n && counts[at] === 0 ? null : String(sums[at]);
}

/**
 * The difference that a transaction makes to the totals of traces. It is written once, as the last statement: transactions
 * of one trace wait for one another no longer than for that.
 */
export class TotalsChange {
  readonly #byTrace = new Map<string, Difference>();
  readonly #calls = new Map<string, StandingCall>();
  readonly #others = new Set<string>();
  /** Calls that moved within their traces. */
  readonly #placed = new Set<string>();

  /**
   * @param before rows as they were
   * @param after rows as they are
   */
  add(before: readonly RunRow[], after: readonly RunRow[]): void {
    for (const row of before) this.#addRun(row, -1);
    for (const row of after) {
      this.#addRun(row, 1);
      const key = runKey(row);
      this.#calls.delete(key);
      this.#others.delete(key);
      if (hasUsage(row)) this.#calls.set(key, row);
      else this.#others.add(key);
    }
  }

  /** Calls that state a usage as before, and stand elsewhere in their traces. */
  addPlaced(calls: readonly StandingCall[]): void {
    for (const call of calls) {
      this.#calls.set(runKey(call), call);
      this.#placed.add(runKey(call));
    }
  }

  #addRun(row: RunRow, sign: 1 | -1): void {
    if (!isSummedCall(row.runType)) return;
    const { projectId, traceId, totalTokens, promptTokens, completionTokens } = row;
    const { totalCost, promptCost, completionCost } = row;
    const values = [
      totalTokens,
      promptTokens,
      completionTokens,
      unitsOf(totalCost),
      unitsOf(promptCost),
      unitsOf(completionCost),
    ];
    if (values.every((value) => value === undefined)) return;
    const key = traceKey(row);
    const found = this.#byTrace.get(key) ?? {
      projectId,
      traceId,
      sums: TOTALS.map(() => 0n),
      counts: TOTALS.map(() => 0),
    };
    this.#byTrace.set(key, found);
    for (const [at, value] of values.entries())
      if (value !== undefined) {
        found.sums[at] = (found.sums[at] ?? 0n) + BigInt(value) * BigInt(sign);
        found.counts[at] = (found.counts[at] ?? 0) + sign;
      }
  }

  /**
   * Adds it to the stored totals, and takes the usage from calls that are outside of others. The keys of all
   * these runs are locked.
   */
  async write(client: Connection, tenantId: string): Promise<void> {
    const shared = await this.#write(client, tenantId);
    const calls = [...this.#calls.values()].filter(
      (call) => this.#placed.has(runKey(call)) || shared.has(traceKey(call)) || this.#isBelowCall(call),
    );
    const taken = new TotalsChange();
    taken.add(await takeOuterUsage(client, tenantId, calls, this.#others), []);
    await taken.#write(client, tenantId);
  }

  #isBelowCall({ traceId, parentRunIds }: StandingCall): boolean {
    return parentRunIds.some((id) => this.#calls.has(runKey({ id, traceId })));
  }

  /** @returns the traces that have other calls than those of this change, by `traceKey` */
  async #write(client: Connection, tenantId: string): Promise<ReadonlySet<string>> {
    const all = [...this.#byTrace.values()].filter((one) => !isNothing(one));
    if (all.length === 0) return new Set();
    // planned once for a connection: that takes longer than adding twenty traces
    const { rows } = await client.query<CountsRow>({
      name: 'add-trace-totals',
      text: ADD_DIFFERENCES,
      values: [
        tenantId,
        all.map(({ projectId }) => projectId),
        all.map(({ traceId }) => traceId),
        ...TOTALS.map((_name, at) => all.map((one) => sumAt(one, at))),
        ...TOTALS.map((_name, at) => all.map(({ counts }) => counts[at])),
      ],
    });
    const shared = rows
      .map((row) => ({ projectId: row.project_id, traceId: row.trace_id, counts: row.counts }))
      .filter((row) => {
        const own = this.#byTrace.get(traceKey(row))?.counts ?? [];
        return row.counts.some((count, at) => Number(count) > (own[at] ?? 0));
      });
    return new Set(shared.map(traceKey));
  }
}

/** Totals of the runs `r` of one tenant and project that meet a condition, as rows to be inserted. */
function sumsSql(condition: string, sign: '' | '-'): string {
  return `SELECT $1::uuid, $2::uuid, r.trace_id, ${TOTALS.map((name) => `${sign}sum(r.${name})`).join(', ')},
  ${TOTALS.map((name) => `${sign}count(r.${name})`).join(', ')}
FROM runs r WHERE r.tenant_id = $1 AND r.project_id = $2 AND ${condition} AND ${isSummedCallSql('r.run_type')}
GROUP BY r.trace_id HAVING ${TOTALS.map((name) => `count(r.${name})`).join(' + ')} > 0`;
}

/** Takes runs of one tenant and project, which are about to be removed, out of the totals of their traces. */
export async function subtractTotals(client: Connection, runs: readonly RunPlace[]): Promise<void> {
  const [first] = runs;
  if (!first) return;
  const traces = runs.map(({ traceId }) => traceId);
  const these = `r.start_time >= $3 AND r.start_time <= $4
    AND (r.start_time, r.id, r.trace_id) IN (SELECT * FROM unnest($5::timestamptz[], $6::uuid[], $7::uuid[]))`;
  await client.query(`${INSERT} ${sumsSql(these, '-')} ORDER BY r.trace_id ${ADD}`, [
    first.tenantId,
    first.projectId,
    ...timeBounds(runs),
    runs.map(({ startTime }) => formatInstant(startTime)),
    runs.map(({ id }) => id),
    traces,
  ]);
  await client.query(
    `DELETE FROM trace_totals WHERE tenant_id = $1 AND project_id = $2 AND trace_id = ANY ($3::uuid[])
      AND ${COUNTS.join(' + ')} = 0`,
    [first.tenantId, first.projectId, [...new Set(traces)]],
  );
}

/** Replaces the totals of a project by those of all its stored runs. */
async function replaceTotals(client: Connection, tenantId: string, projectId: string): Promise<void> {
  await client.query('DELETE FROM trace_totals WHERE tenant_id = $1 AND project_id = $2', [
    tenantId,
    projectId,
  ]);
  await client.query(`${INSERT} ${sumsSql('true', '')}`, [tenantId, projectId]);
}

/** The totals of the trace of a row of `runs`, in SQL. @param row its alias */
function ofTrace(row: string): string {
  return `trace_totals g WHERE g.tenant_id = ${row}.tenant_id AND g.project_id = ${row}.project_id AND g.trace_id = ${row}.trace_id`;
}

/**
 * Tokens or a cost of a run as lists show it, in SQL: a root has the total of its trace in its project.
 * @param row alias of a row of `runs`
 */
export function shownTotalSql(row: string, column: TotalColumn): string {
  return `CASE WHEN ${row}.is_root THEN (SELECT g.${column} FROM ${ofTrace(row)}) ELSE ${row}.${column} END`;
}

/** Joins the totals of roots as `g`: one look-up for all columns, in the order of the rows. */
export function totalsJoin(row: string): string {
  return `LEFT JOIN LATERAL (SELECT g.* FROM ${ofTrace(row)} AND ${row}.is_root OFFSET 0) AS g ON true`;
}

/**
 * The same as `shownTotalSql`, for a row that `totalsJoin` was added to.
 * @param most a greater total is shown as this
 */
export function joinedTotalSql(row: string, column: TotalColumn, most: string): string {
  const total = `CASE WHEN g.${column} > ${most} THEN ${most} ELSE g.${column} END`;
  return `CASE WHEN ${row}.is_root THEN ${total} ELSE ${row}.${column} END`;
}

/** Totals of one trace in one project, or of the runs below one. */
export type TotalsRow = Readonly<Record<TotalColumn, string | null>>;

/** The same as members of a run; without a row it has none. */
export function usageOf(row: TotalsRow | undefined): Partial<RunRow> {
  const tokens = (text: string | null | undefined): number | undefined =>
    text === null || text === undefined ? undefined : Number(text);
  return {
    totalTokens: tokens(row?.total_tokens),
    promptTokens: tokens(row?.prompt_tokens),
    completionTokens: tokens(row?.completion_tokens),
    totalCost: row?.total_cost ?? undefined,
    promptCost: row?.prompt_cost ?? undefined,
    completionCost: row?.completion_cost ?? undefined,
  };
}

/** Roots with the totals of their traces. */
export async function withTraceTotals(
  db: Queryable,
  tenantId: string,
  roots: readonly RunRow[],
): Promise<readonly RunRow[]> {
  if (roots.length === 0) return roots;
  const { rows } = await db.query<TotalsRow & Readonly<Record<'project_id' | 'trace_id', string>>>({
    text: `SELECT project_id, trace_id, ${TOTALS.join(', ')} FROM trace_totals
      WHERE tenant_id = $1 AND (trace_id, project_id) IN (SELECT * FROM unnest($2::uuid[], $3::uuid[]))`,
    values: [tenantId, roots.map(({ traceId }) => traceId), roots.map(({ projectId }) => projectId)],
    types: textTypes,
  });
  const totals = new Map(rows.map((row) => [`${row.project_id} ${row.trace_id}`, row]));
  return roots.map((row) => ({ ...row, ...usageOf(totals.get(`${row.projectId} ${row.traceId}`)) }));
}

/**
 * Adds up the traces of a store from before there were totals, a project in a transaction: a killed process
 * begins again.
 */
export async function fillTotals(connection: Connection): Promise<void> {
  const { rows } = await connection.query<{ tenant_id: string; id: string }>(
    'SELECT tenant_id, id FROM projects ORDER BY tenant_id, id',
  );
  for (const { tenant_id: tenantId, id } of rows) {
    await connection.query('BEGIN');
    try {
      await replaceTotals(connection, tenantId, id);
      await connection.query('COMMIT');
    } catch (error) {
      await connection.query('ROLLBACK');
      throw error;
    }
  }
}
