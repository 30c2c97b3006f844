import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { migrate, type Migration } from './migrate.js';
import { openPool, type Pool } from './open-pool.js';
import { buildPartitionedIndex } from './partitioned-index.js';

const postgres = testPostgres();
const log = createLogger('test', 'silent');

const TABLE: Migration = {
  version: 1,
  name: 'table',
  sql: `CREATE TABLE t (a int, b int) PARTITION BY RANGE (a);
    CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (10);
    CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (10) TO (20)`,
};
const INDEX: Migration = {
  version: 2,
  name: 'index',
  transaction: false,
  perform: (connection) => buildPartitionedIndex(connection, { name: 't_b', table: 't', on: '(b)' }),
};

describe('an index of a partitioned table', () => {
  let pools: Pool[];
  let pool: Pool;
  let uri: string;

  const open = (): Pool => {
    const opened = openPool({ uri, applicationName: 'migrating', maxConnections: 3, log });
    pools.push(opened);
    return opened;
  };
  const run = (on: Pool, migrations: readonly Migration[]): Promise<void> =>
    migrate(on, { migrations, lock: 77, log, clock: systemClock });
  const indexes = async (): Promise<unknown[]> =>
    (
      await pool.query<{ name: string; valid: boolean }>(
        `SELECT c.relname || CASE WHEN x.indisvalid THEN '' ELSE ' invalid' END AS name
        FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_class r ON r.oid = x.indrelid
        WHERE r.relname IN ('t', 't_1', 't_2', 't_3') ORDER BY 1`,
      )
    ).rows.map(({ name }) => name);

  beforeEach(async () => {
    pools = [];
    ({ uri } = await postgres.freshDatabase());
    pool = open();
    await run(pool, [TABLE]);
  });
  afterEach(() => Promise.all(pools.map((one) => one.end())));

  it('gets built partition by partition by one of several programs that start at once', async () => {
    await Promise.all([open(), open(), open()].map((one) => run(one, [TABLE, INDEX])));
    expect(await indexes()).toEqual(['t_1_b', 't_2_b', 't_b']);
  });

  it('lets rows be written while it is built, and is completed after a kill', async () => {
    const holder = await open().connect();
    await holder.query('BEGIN; INSERT INTO t_2 VALUES (11, 1)');
    const killed = run(open(), [TABLE, INDEX]);
    killed.catch(() => undefined);
    const building = await waitFor(async () => {
      const { rows } = await pool.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY t_2_b%' AND wait_event_type = 'Lock'`,
      );
      return rows[0]?.pid;
    });
    await pool.query('INSERT INTO t VALUES (1, 1), (12, 1)');
    await pool.query('SELECT pg_terminate_backend($1)', [building]);
    await expect(killed).rejects.toThrow();
    await holder.query('COMMIT');
    holder.release();
    expect(await indexes()).toEqual(['t_1_b', 't_2_b invalid', 't_b invalid']);
    await run(open(), [TABLE, INDEX]);
    expect(await indexes()).toEqual(['t_1_b', 't_2_b', 't_b']);
  });

  it('comes along with a partition that is attached in the middle of its making', async () => {
    await pool.query('CREATE INDEX t_b ON ONLY t (b)');
    await pool.query('CREATE TABLE t_3 (LIKE t INCLUDING ALL)');
    await pool.query('ALTER TABLE t ATTACH PARTITION t_3 FOR VALUES FROM (20) TO (30)');
    await run(pool, [TABLE, INDEX]);
    expect(await indexes()).toEqual(['t_1_b', 't_2_b', 't_3_b_idx', 't_b']);
  });
});
