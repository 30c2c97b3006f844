import { setImmediate } from 'node:timers/promises';
import { PublicError } from '#lib/errors';
import { type Queryable, textTypes } from '#lib/postgres';
import { parseInstant } from '#lib/time';
import { BUCKET_STARTS, bucketSql } from './distribution.js';
import { KeyedSums, type StatisticsKey, summedTypeSql } from './run-statistics-table.js';
import { MEASURES } from './sums.js';

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
