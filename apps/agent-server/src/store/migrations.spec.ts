import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { Database } from './database.js';
import { MIGRATIONS, SCHEMA } from './migrations.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const [thread, run] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

describe('the schema', () => {
  it('is brought up to date with what is in it', async () => {
    const { uri } = await postgres.freshDatabase();
    const database = new Database(uri, 3, log);
    const { pool } = database;
    await pool.query(`CREATE SCHEMA ${SCHEMA}`);
    await pool.query(
      `CREATE TABLE ${SCHEMA}.migrations (version int PRIMARY KEY, applied_at timestamptz DEFAULT now())`,
    );
    await pool.query(MIGRATIONS[0] ?? '');
    await pool.query(`INSERT INTO ${SCHEMA}.migrations (version) VALUES (1)`);
    await new PostgresSaver(pool, undefined, { schema: SCHEMA }).setup();
    await pool.query(`INSERT INTO ${SCHEMA}.threads (thread_id, status) VALUES ($1, 'interrupted')`, [
      thread,
    ]);
    await pool.query(
      `SELECT * FROM ${SCHEMA}.submit_run($1, $2, $1, 'graph', '{}', '{}', 'enqueue', 1000000, NULL, 1, NULL, false)`,
      [run, thread],
    );
    await Promise.all([database.migrate(), database.migrate()]);
    const { rows } = await pool.query(`SELECT max(version) AS version FROM ${SCHEMA}.migrations`);
    expect(rows).toEqual([{ version: MIGRATIONS.length }]);
    expect(
      (await pool.query(`SELECT outcome FROM ${SCHEMA}.cancel_run($1, $2, 'interrupt')`, [run, thread])).rows,
    ).toEqual([{ outcome: 'done' }]);
    await database.close();
  });

  it('lets a thread with thousands of runs find its active ones by an index', async () => {
    const { uri } = await postgres.freshDatabase();
    const database = new Database(uri, 3, log);
    await database.migrate();
    await database.pool.query(
      `INSERT INTO ${SCHEMA}.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata, kwargs)
       SELECT gen_random_uuid(), $1, false, $1, 'graph', 'success', 'enqueue', '{}', '{}' FROM generate_series(1, 5000)`,
      [thread],
    );
    await database.pool.query(`ANALYZE ${SCHEMA}.runs`);
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT 1 FROM ${SCHEMA}.runs o WHERE o.thread_id = '${thread}' AND (o.status = 'running'
       OR (o.status = 'pending' AND o.ordinal < 7 AND o.start_after <= clock_timestamp()))`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('runs_active_by_thread');
    await database.close();
  });
});
