import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { Database } from './database.js';
import { MIGRATIONS, SCHEMA } from './migrations.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const thread = '11111111-1111-4111-8111-111111111111';

describe('the schema', () => {
  it('is made once, however many servers start on it', async () => {
    const { uri } = await postgres.freshDatabase();
    const database = new Database(uri, 3, log);
    await Promise.all([database.migrate(), database.migrate()]);
    await database.migrate();
    const { rows } = await database.pool.query(`SELECT version FROM ${SCHEMA}.migrations ORDER BY version`);
    expect(rows).toEqual(MIGRATIONS.map((_sql, index) => ({ version: index + 1 })));
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
