import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const TENANT = randomUUID();
const PROJECT = randomUUID();

/** A day's runs: one root among a hundred, one failure among a thousand. */
const ROWS = `
INSERT INTO runs (tenant_id, project_id, start_time, id, trace_id, parent_run_id, parent_run_ids, is_root, name, run_type,
  status, dotted_order, trace_tier, tags, thread_id)
SELECT '${TENANT}', '${PROJECT}', '1960-01-01'::timestamptz + n * interval '1 second', md5('r' || n)::uuid,
  md5('t' || n / 100)::uuid, CASE WHEN n % 100 > 0 THEN md5('r' || n / 10 * 10)::uuid END, '{}', n % 100 = 0, 'n', 'llm',
  CASE WHEN n % 1000 = 0 THEN 'error' ELSE 'success' END, '', '', '{}', 'thread ' || n / 1000
FROM generate_series(0, 19999) n`;
const PAIRS = `
INSERT INTO run_pairs SELECT tenant_id, project_id, start_time, trace_id, id, 1, 'user', md5(id::text)
FROM runs; ANALYZE runs; ANALYZE run_pairs`;

const OF_PROJECT = `tenant_id = '${TENANT}' AND project_id = '${PROJECT}'`;
const FROM_DAY = `start_time >= '1960-01-01' AND start_time < '1960-01-02'`;

describe('a query of runs', () => {
  let client: pg.Client;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const store = openTraceStore({ uri, log: createLogger('test', 'error'), clock: systemClock });
    await store.migrate();
    await store.close();
    client = new pg.Client({ connectionString: uri });
    await client.connect();
    await client.query(ROWS);
    await client.query(PAIRS);
  });
  afterAll(() => client.end());

  it.each([
    ['runs_trace', `SELECT * FROM runs WHERE tenant_id = '${TENANT}' AND trace_id = md5('t5')::uuid`],
    ['runs_parent', `SELECT * FROM runs WHERE tenant_id = '${TENANT}' AND parent_run_id = md5('r510')::uuid`],
    [
      'runs_thread_time',
      `SELECT * FROM runs WHERE ${OF_PROJECT} AND thread_id = 'thread 5' AND is_root AND thread_id IS NOT NULL`,
    ],
    ['runs_root', `SELECT * FROM runs WHERE ${OF_PROJECT} AND ${FROM_DAY} AND is_root`],
    [
      'runs_failed',
      `SELECT * FROM runs WHERE ${OF_PROJECT} AND is_failed ORDER BY start_time DESC, id DESC LIMIT 20`,
    ],
    [
      'run_pairs_value',
      `SELECT run_id FROM run_pairs WHERE ${OF_PROJECT} AND ${FROM_DAY} AND kind = 1 AND key = 'user' AND value = 'x'`,
    ],
    ['run_pairs_run', `SELECT * FROM run_pairs WHERE tenant_id = '${TENANT}' AND run_id = md5('r7')::uuid`],
  ])('uses the index %s', async (index, query) => {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${query}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    // indexes of partitions are named after those of their table, or by Postgres after their columns
    const { rows: parts } = await client.query<{ name: string }>(
      'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass',
      [index],
    );
    expect(parts.filter(({ name }) => plan.includes(name))).not.toEqual([]);
    expect(plan).not.toMatch(/Seq Scan on \w+_before_1970/);
  });

  it('uses the index of times for the keys of a day', async () => {
    await client.query('SET enable_seqscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN DELETE FROM run_keys WHERE ${FROM_DAY}`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('run_keys_time');
  });
});
