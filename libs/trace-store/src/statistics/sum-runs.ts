import { type Queryable, textTypes } from '#lib/postgres';
import { parseInstant } from '#lib/time';
import { bucketSql } from './distribution.js';
import { KeyedSums, summedTypeSql } from './run-statistics-table.js';
import { MEASURES } from './sums.js';

/** Sums and distributions of the rows of `runs r` that meet a condition, by project, hour, root and type. */
function sumsQuery(condition: string): string {
  const micros = (time: string): string => `(extract(epoch FROM ${time} - r.start_time) * 1000000)::float8`;
  const buckets = MEASURES.map((_measure, at) => `(${at}, ${bucketSql(`m.v${at}`)})`).join(', ');
  return `
WITH m AS MATERIALIZED (
  SELECT r.project_id, date_bin('1 hour', r.start_time, '2000-01-01 00:00Z') AS hour, r.is_root,
    ${summedTypeSql('r.run_type')} AS run_type, r.is_failed, r.total_tokens, r.prompt_tokens, r.completion_tokens,
    r.total_cost, r.prompt_cost, r.completion_cost, ${micros('r.end_time')} AS v0, ${micros('r.first_token_time')} AS v1,
    r.total_tokens::float8 AS v2, r.prompt_tokens::float8 AS v3, r.completion_tokens::float8 AS v4,
    (r.total_cost * 1e10)::float8 AS v5
  FROM runs r WHERE ${condition}
)
SELECT m.project_id, m.hour, m.is_root, m.run_type, NULL::int AS measure, NULL::int AS bucket, count(*) AS runs,
  count(*) FILTER (WHERE m.is_failed) AS t1, count(m.v1) AS t2, sum(m.total_tokens) AS t3, sum(m.prompt_tokens) AS t4,
  sum(m.completion_tokens) AS t5, trunc(sum(m.total_cost) * 1e10) AS t6, trunc(sum(m.prompt_cost) * 1e10) AS t7,
  trunc(sum(m.completion_cost) * 1e10) AS t8
FROM m GROUP BY 1, 2, 3, 4
UNION ALL
SELECT m.project_id, m.hour, m.is_root, m.run_type, b.measure, b.bucket, count(*), ${Array.from({ length: 8 }, () => 'NULL').join(', ')}
FROM m CROSS JOIN LATERAL (VALUES ${buckets}) AS b(measure, bucket)
WHERE b.bucket IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6`;
}

type SummedRow = Readonly<
  Record<'project_id' | 'hour' | 'is_root' | 'run_type' | 'runs', string> &
    Record<'measure' | 'bucket' | 't1' | 't2' | 't3' | 't4' | 't5' | 't6' | 't7' | 't8', string | null>
>;

const LATER_TOTALS = ['t1', 't2', 't3', 't4', 't5', 't6', 't7', 't8'] as const;

/**
 * Sums runs.
 * @param condition on a row of `runs` named `r`; it names the tenant
 */
export async function sumRuns(
  db: Queryable,
  condition: string,
  values: readonly unknown[],
): Promise<KeyedSums> {
  const { rows } = await db.query<SummedRow>({
    text: sumsQuery(condition),
    values: [...values],
    types: textTypes,
  });
  const all = new KeyedSums();
  for (const row of rows) {
    const sums = all.of({
      projectId: row.project_id,
      hour: parseInstant(row.hour, { zone: 'optional' }) ?? 0n,
      isRoot: row.is_root === 't',
      runType: row.run_type,
    });
    if (row.measure !== null) sums.count(Number(row.measure), Number(row.bucket), Number(row.runs));
    else {
      sums.addTotal(0, BigInt(row.runs));
      for (const [at, name] of LATER_TOTALS.entries()) sums.addTotal(at + 1, BigInt(row[name] ?? 0));
    }
  }
  return all;
}
