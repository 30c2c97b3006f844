import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { waitFor } from '#lib/testing';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import { RunPlacer } from './run-placer.js';

const NONE = '00000000-0000-0000-0000-000000000000';

describe('giving up unplaced runs', () => {
  const db = testTraceStore();

  /**
   * Runs whose parents wait, too, and not as long; then as many whose parents never came.
   * @returns rows of `unplaced_runs` that were read to give up the second ones
   */
  async function readToGiveUp(count: number): Promise<number> {
    const [tenant, project] = [randomUUID(), randomUUID()];
    await db.client.query(`TRUNCATE unplaced_runs; TRUNCATE run_keys`);
    await db.client.query(
      `INSERT INTO run_keys (tenant_id, id, trace_id, start_time, project_id)
        SELECT '${tenant}'::uuid, md5('p' || n)::uuid, md5('t' || n)::uuid, now(), '${project}'::uuid FROM generate_series(1, ${count}) n;
      INSERT INTO unplaced_runs
        SELECT '${tenant}'::uuid, '${project}'::uuid, now(), md5('t' || n)::uuid, md5('c' || n)::uuid, md5('p' || n)::uuid,
          now() - interval '26 hours' + n * interval '1 ms' FROM generate_series(1, ${count}) n
        UNION ALL
        SELECT '${tenant}'::uuid, '${project}'::uuid, now(), md5('t' || n)::uuid, md5('p' || n)::uuid, gen_random_uuid(),
          now() - interval '23 hours' FROM generate_series(1, ${count}) n
        UNION ALL
        SELECT '${tenant}'::uuid, '${project}'::uuid, now(), md5('o' || n)::uuid, md5('o' || n)::uuid, gen_random_uuid(),
          now() - interval '25 hours' FROM generate_series(1, ${count}) n;
      ANALYZE unplaced_runs; ANALYZE run_keys; SELECT pg_stat_reset();`,
    );
    // what a session has read is counted for sure when it has ended, which is after its connection has
    const pool = openPool({ uri: db.uri, applicationName: 'giving up', log: createLogger('test', 'silent') });
    await new RunPlacer(pool).giveUp();
    await pool.end();
    const sessions = "SELECT FROM pg_stat_activity WHERE application_name = 'giving up'";
    await waitFor(async () => (await db.client.query(sessions)).rowCount === 0);
    const left = await db.client.query('SELECT FROM unplaced_runs');
    expect(left.rowCount).toBe(2 * count);
    const { rows } = await db.client.query<{ read: string }>(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS read FROM pg_stat_user_tables WHERE relname = 'unplaced_runs'`,
    );
    return Number(rows[0]?.read);
  }

  it('reads four times as many rows for four times as many runs', async () => {
    const once = await readToGiveUp(1_200);
    expect(await readToGiveUp(4_800)).toBeLessThan(6 * once);
    // more than one statement reads
    await readToGiveUp(6_000);
  });

  it.each([
    ['run_patches_waiting', 'run_patches_waiting_project'],
    ['unplaced_runs', 'unplaced_runs_project'],
    ['attachments', 'attachments_project'],
  ])('finds rows of a deleted project in %s by an index', async (table, index) => {
    await db.client.query('SET enable_seqscan = off');
    const { rows } = await db.client.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN DELETE FROM ${table} WHERE tenant_id = '${NONE}' AND project_id = '${NONE}'`,
    );
    await db.client.query('SET enable_seqscan = on');
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain(index);
  });
});
