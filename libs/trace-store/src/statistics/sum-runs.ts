import { setImmediate } from 'node:timers/promises';
import { PublicError } from '#lib/errors';
import { type Connection, type Queryable, textTypes } from '#lib/postgres';
import { dayOf, formatInstant, type Instant, MICROS_PER_DAY, parseInstant } from '#lib/time';
import {
  insertSums,
  KeyedSums,
  SPAN,
  type StatisticsKey,
  summedTypeSql,
  SUMS_COLUMNS,
  type SumsRow,
} from './run-statistics-table.js';
import { BUCKET_STARTS, bucketSql, MEASURES, runsOf } from './sums.js';

/**
 * Kind of sums that are asked for: those of each hour, as they are kept; those of each project, root and
 * type; or one of all, whose key is empty.
 */
type SumDetail = 'hours' | 'types' | 'one';

const KIND = { is_root: 'r.is_root', run_type: summedTypeSql('r.run_type') };
/** Keys that runs are summed by: expressions by the names of their columns. */
const KEYS: Readonly<Record<SumDetail, Readonly<Record<string, string>>>> = {
  hours: {
    project_id: 'r.project_id',
    hour: `date_bin('1 hour', r.start_time, '2000-01-01 00:00Z')`,
    ...KIND,
  },
  types: { project_id: 'r.project_id', ...KIND },
  one: {},
};

/** Rows of an answer to a reader, some hundred bytes each: one of all sums has 20,000 at most. */
const MOST_ROWS = 100_000;
const ROWS_AT_ONCE = 2_000;

/** Sums and distributions of the rows of `runs r` that meet a condition. Buckets are found before rows are counted by them. */
function sumsQuery(condition: string, detail: SumDetail): string {
  const micros = (time: string): string => `round(date_part('epoch', ${time} - r.start_time) * 1000000)`;
  const values = [
    micros('r.end_time'),
    micros('r.first_token_time'),
    'r.total_tokens::float8',
    'r.prompt_tokens::float8',
    'r.completion_tokens::float8',
    '(r.total_cost * 1e10)::float8',
  ];
  const keys = Object.keys(KEYS[detail]);
  const named = Object.entries(KEYS[detail]).map(([name, key]) => `${key} AS ${name}, `);
  const by = keys.map((key) => `m.${key}, `).join('');
  const grouped = (...more: readonly string[]): string => {
    const all = [...keys.map((key) => `m.${key}`), ...more];
    return all.length > 0 ? `GROUP BY ${all.join(', ')}` : '';
  };
  const noTotals = Array.from({ length: 8 }, () => 'NULL').join(', ');
  const counts = MEASURES.map(
    (_measure, at) => `
UNION ALL
SELECT ${by}${at}, m.b${at}, count(*), ${noTotals} FROM m WHERE m.b${at} IS NOT NULL ${grouped(`m.b${at}`)}`,
  );
  return `
WITH m AS MATERIALIZED (
  SELECT ${named.join('')}r.is_failed, r.first_token_time IS NOT NULL AS is_streamed,
    r.total_tokens, r.prompt_tokens, r.completion_tokens, r.total_cost, r.prompt_cost, r.completion_cost,
    ${values.map((value, at) => `${bucketSql(value, 's.starts')} AS b${at}`).join(', ')}
  FROM (SELECT ${BUCKET_STARTS} AS starts OFFSET 0) s CROSS JOIN runs r WHERE ${condition}
)
SELECT ${by}NULL::int AS measure, NULL::int AS bucket, count(*) AS runs, count(*) FILTER (WHERE m.is_failed) AS t1,
  count(*) FILTER (WHERE m.is_streamed) AS t2, sum(m.total_tokens) AS t3, sum(m.prompt_tokens) AS t4,
  sum(m.completion_tokens) AS t5, trunc(sum(m.total_cost) * 1e10) AS t6, trunc(sum(m.prompt_cost) * 1e10) AS t7,
  trunc(sum(m.completion_cost) * 1e10) AS t8
FROM m ${grouped()}${counts.join('')}`;
}

type SummedRow = Readonly<
  Record<'runs', string> &
    Partial<Record<'project_id' | 'hour' | 'is_root' | 'run_type', string>> &
    Record<'measure' | 'bucket' | 't1' | 't2' | 't3' | 't4' | 't5' | 't6' | 't7' | 't8', string | null>
>;

const LATER_TOTALS = ['t1', 't2', 't3', 't4', 't5', 't6', 't7', 't8'] as const;

/**
 * Sums runs.
 * @param condition on a row of `runs` named `r`; it names the tenant
 * @throws PublicError bad_request when a reader's runs have too many different values to be added up here
 */
export async function sumRuns(
  db: Queryable,
  condition: string,
  values: readonly unknown[],
  detail: SumDetail = 'hours',
): Promise<KeyedSums> {
  const most = detail === 'hours' ? '' : ` LIMIT ${MOST_ROWS + 1}`;
  const { rows } = await db.query<SummedRow>({
    text: sumsQuery(condition, detail) + most,
    values: [...values],
    types: textTypes,
  });
  if (most && rows.length > MOST_ROWS)
    throw new PublicError(
      'bad_request',
      'These runs have too many different times, tokens and costs to be added up at once: ask for fewer projects or a shorter time',
    );
  const all = new KeyedSums();
  for (const [at, row] of rows.entries()) {
    if (at % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await setImmediate();
    const sums = all.of(keyOf(row));
    if (row.measure !== null) sums.count(Number(row.measure), Number(row.bucket), Number(row.runs));
    else {
      sums.addTotal(0, BigInt(row.runs));
      for (const [total, name] of LATER_TOTALS.entries()) sums.addTotal(total + 1, BigInt(row[name] ?? 0));
    }
  }
  return all;
}

function keyOf({
  project_id: projectId = '',
  hour,
  is_root: isRoot,
  run_type: runType = '',
}: SummedRow): StatisticsKey {
  const time = hour === undefined ? undefined : parseInstant(hour, { zone: 'optional' });
  return { projectId, hour: time ?? 0n, isRoot: isRoot === 't', runType };
}

/** Place of a run. */
interface Place {
  readonly tenantId: string;
  readonly projectId: string;
  readonly startTime: Instant;
  readonly id: string;
  readonly traceId: string;
}

/**
 * Takes runs of one tenant and project, which are about to be removed, out of its sums. Their keys are locked. They are
 * summed by the server: their rows may be large.
 */
export async function subtractRuns(client: Connection, runs: readonly Place[]): Promise<void> {
  const [first] = runs;
  if (!first) return;
  const times = runs.map(({ startTime }) => formatInstant(startTime));
  const sums = await sumRuns(
    client,
    `r.tenant_id = $1 AND r.project_id = $2 AND r.start_time = ANY ($3::timestamptz[])
      AND (r.start_time, r.id, r.trace_id) IN (SELECT * FROM unnest($3::timestamptz[], $4::uuid[], $5::uuid[]))`,
    [first.tenantId, first.projectId, times, runs.map(({ id }) => id), runs.map(({ traceId }) => traceId)],
  );
  await insertSums(client, first.tenantId, sums.negated(), SPAN.unfolded);
}

/** Whole hours; without an end all that there are. */
export interface Hours {
  readonly from: Instant | undefined;
  /** Exclusive. */
  readonly to: Instant | undefined;
}

/** Years from here on have five digits, which Postgres reads in another form; nothing is stored so far ahead. */
const TOO_LATE: Instant = BigInt(Date.UTC(10_000, 0)) * 1000n;

function dayText(day: Instant): string {
  return day < TOO_LATE ? formatInstant(day) : 'infinity';
}

/** Rows that are held at a time. */
const SUMS_AT_ONCE = 50;
/** Read for one answer: decoding them is the work of this process. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Days for the whole days of the range, hours at the ends, and the rows that are not folded: in one
 * statement, so of one moment.
 * @param columns of the table, called `s`
 */
function rowsQuery(
  columns: string,
  { from, to }: Hours,
): { readonly text: string; readonly times: readonly string[] } {
  const firstDay = from === undefined ? undefined : dayOf(from + MICROS_PER_DAY - 1n);
  const lastDay = to === undefined ? undefined : dayOf(to);
  const hasDays = firstDay === undefined || lastDay === undefined || firstDay < lastDay;
  const times = [
    from === undefined ? '-infinity' : formatInstant(from),
    to === undefined ? 'infinity' : formatInstant(to),
    firstDay === undefined ? '-infinity' : dayText(firstDay),
    lastDay === undefined ? 'infinity' : formatInstant(lastDay),
  ];
  const between = (span: number, [first, last]: readonly [number, number]): string =>
    `SELECT ${columns} FROM run_statistics s
    WHERE s.tenant_id = $1 AND s.project_id = ANY ($2::uuid[]) AND s.span = ${span}
      AND s.hour >= $${first}::timestamptz AND s.hour < $${last}::timestamptz`;
  const parts = hasDays
    ? [between(SPAN.day, [5, 6]), between(SPAN.hour, [3, 5]), between(SPAN.hour, [6, 4])]
    : [between(SPAN.hour, [3, 4])];
  parts.push(between(SPAN.unfolded, [3, 4]));
  return { text: parts.join(' UNION ALL '), times: hasDays ? times : times.slice(0, 2) };
}

/**
 * Visits the sums of some projects. In a transaction, whose snapshot the caller may share with other statements.
 * @throws PublicError bad_request when they are too many
 */
export async function readSums(
  client: Connection,
  tenantId: string,
  projectIds: readonly string[],
  hours: Hours,
  visit: (row: SumsRow) => void,
): Promise<void> {
  const { text, times } = rowsQuery(SUMS_COLUMNS, hours);
  await client.query(`DECLARE sums NO SCROLL CURSOR FOR ${text}`, [tenantId, projectIds, ...times]);
  let bytes = 0;
  for (;;) {
    const { rows } = await client.query<SumsRow>({
      text: `FETCH ${SUMS_AT_ONCE} FROM sums`,
      types: textTypes,
    });
    for (const row of rows) {
      // a full row takes 20 ms
      await setImmediate();
      bytes += row.sums.length / 2;
      visit(row);
    }
    if (rows.length < SUMS_AT_ONCE) break;
    if (bytes > MAX_BYTES)
      throw new PublicError(
        'bad_request',
        'These projects have statistics of too many hours to be added at once: ask for fewer projects or a shorter time',
      );
  }
  await client.query('CLOSE sums');
}

/** Bytes of the longest number of runs, which the sums of a row begin with. */
const COUNT_BYTES = 10;

/**
 * Number of runs of a project in some hours; any number of hours, since only the beginning of each row is
 * read.
 */
export async function readRunCount(
  client: Connection,
  tenantId: string,
  projectId: string,
  hours: Hours,
): Promise<number> {
  const { text, times } = rowsQuery(`substring(s.sums FROM 1 FOR ${COUNT_BYTES}) AS sums`, hours);
  const { rows } = await client.query<{ sums: string }>({
    text,
    values: [tenantId, [projectId], ...times],
    types: textTypes,
  });
  let runs = 0n;
  for (const { sums } of rows) runs += runsOf(Buffer.from(sums.slice(2), 'hex'));
  return Number(runs);
}
