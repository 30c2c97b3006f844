import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import { sumRuns } from './sum-runs.js';

const TENANT = randomUUID();
const RUNS = 25_000;

describe('adding up runs for a reader', () => {
  const database = testTraceStore();
  const projects = Array.from({ length: 100 }, () => randomUUID());

  beforeAll(async () => {
    // no two runs of a project alike, over a thousand hours
    await database.client.query(
      `INSERT INTO runs (tenant_id, project_id, start_time, end_time, first_token_time, id, trace_id, parent_run_ids, is_root,
        name, run_type, status, dotted_order, trace_tier, tags, total_tokens, prompt_tokens, completion_tokens, total_cost)
      SELECT $1::uuid, ($2::uuid[])[1 + n % 100], s.start, s.start + s.size * interval '1 s', s.start + s.size * interval '2 s',
        gen_random_uuid(), gen_random_uuid(), '{}'::uuid[], n % 3 > 0, 'n', 'llm', 'success', '', '', '{}'::text[],
        s.size * 1000, s.size * 2000, s.size * 3000, s.size
      FROM generate_series(0, ${RUNS - 1}) AS n CROSS JOIN LATERAL (
        SELECT '1960-01-01'::timestamptz + (n % 1000) * interval '1 hour' AS start,
          1.02 ^ (n / 100) AS size
      ) s`,
      [TENANT, projects],
    );
  });

  /** The rows that the statement answers. */
  const counted = async (
    ...given: readonly [condition: string, values: unknown[], detail: 'types' | 'one']
  ) => {
    let answered = 0;
    const db = {
      query: async (statement: pg.QueryConfig) => {
        const answer = await database.client.query(statement);
        answered += answer.rows.length;
        return answer;
      },
    };
    return { sums: await sumRuns(db as never, ...given), answered };
  };

  it('answers no more rows for a thousand hours than for one', async () => {
    const { sums, answered } = await counted('r.tenant_id = $1', [TENANT], 'one');
    const [all] = sums.entries();
    expect(all?.sums.total('runs')).toBe(BigInt(RUNS));
    // six measures of 250 sizes, and the totals
    expect(answered).toBeLessThanOrEqual(1 + 6 * 250);
    const one = await counted('r.tenant_id = $1 AND r.project_id = $2', [TENANT, projects[0]], 'types');
    expect(
      one.sums
        .entries()
        .map(({ key }) => `${key.isRoot} ${key.runType}`)
        .sort(),
    ).toEqual(['false llm', 'true llm']);
  });

  it('refuses what would take too many rows in plain words', async () => {
    await expect(counted('r.tenant_id = $1', [TENANT], 'types')).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('ask for fewer projects or a shorter time'),
    });
  });
});
