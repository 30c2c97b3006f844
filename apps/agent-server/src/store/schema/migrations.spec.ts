import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { Database } from '../database.js';
import { MIGRATIONS } from './migrations.js';
import { SCHEMA } from './later-tables.js';

const postgres = testPostgres();
const log = createLogger('test', 'silent');
const thread = '11111111-1111-4111-8111-111111111111';

async function migrated(times: number) {
  const { uri } = await postgres.freshDatabase();
  const database = new Database({ uri, poolSize: 3, clock: systemClock, log });
  await Promise.all(Array.from({ length: times }, () => database.migrate()));
  await database.migrate();
  await database.close();
  return openPool({ uri, applicationName: 'test', log });
}

describe('the schema', () => {
  it('has the tables of the public checkpointer as the library itself makes them', async () => {
    const { uri } = await postgres.freshDatabase();
    const [ours, theirs] = [await migrated(1), openPool({ uri, applicationName: 'test', log })];
    await theirs.query(`CREATE SCHEMA ${SCHEMA}`);
    await new PostgresSaver(theirs, undefined, { schema: SCHEMA }).setup();
    const shape = async (pool: Pool): Promise<unknown> => {
      const columns = await pool.query(`SELECT table_name, column_name, data_type, is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = '${SCHEMA}' AND table_name LIKE 'checkpoint%'
        AND column_name NOT IN ('run_id', 'task_path') ORDER BY 1, 2`);
      const keys = await pool.query(`SELECT indexdef FROM pg_indexes
        WHERE schemaname = '${SCHEMA}' AND tablename LIKE 'checkpoint%' ORDER BY 1`);
      const versions = await pool.query(`SELECT v FROM ${SCHEMA}.checkpoint_migrations ORDER BY 1`);
      return [columns.rows, keys.rows, versions.rows];
    };
    expect(await shape(ours)).toEqual(await shape(theirs));
    await ours.end();
    await theirs.end();
  });

  it('creates the schema once when several servers start on one database', async () => {
    const pool = await migrated(2);
    const { rows } = await pool.query(`SELECT version FROM ${SCHEMA}.migrations ORDER BY version`);
    expect(rows).toEqual(MIGRATIONS.map(({ version }) => ({ version })));
    await pool.end();
  });

  it('finds the active runs of a thread with thousands of runs by an index', async () => {
    const pool = await migrated(1);
    await pool.query(
      `INSERT INTO ${SCHEMA}.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata, kwargs)
       SELECT gen_random_uuid(), $1, false, $1, 'graph', 'success', 'enqueue', '{}', '{}' FROM generate_series(1, 5000)`,
      [thread],
    );
    await pool.query(`ANALYZE ${SCHEMA}.runs`);
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT 1 FROM ${SCHEMA}.runs o WHERE o.thread_id = '${thread}' AND (o.status = 'running'
       OR (o.status = 'pending' AND o.ordinal < 7 AND o.start_after <= clock_timestamp()))`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('runs_active_by_thread');
    await pool.end();
  });
});
