import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { migrate, type MigrateOptions, type Migration } from './migrate.js';
import { openPool, type Pool } from './open-pool.js';

const postgres = testPostgres();
const log = createLogger('test', 'silent');
const LOCK = 77;

const TABLE: Migration = { version: 1, name: 'table', sql: 'CREATE TABLE t (a int); CREATE TABLE u (a int)' };
const INDEX: Migration = {
  version: 2,
  name: 'index',
  transaction: false,
  statements: ['DROP INDEX CONCURRENTLY IF EXISTS t_a', 'CREATE INDEX CONCURRENTLY t_a ON t (a)'],
};

describe('migrate', () => {
  let uri: string;
  let pools: Pool[];
  let pool: Pool;

  const open = (): Pool => {
    const opened = openPool({ uri, applicationName: 'migrating', maxConnections: 3, log });
    pools.push(opened);
    return opened;
  };
  const run = (
    on: Pool,
    migrations: readonly Migration[],
    rest: Partial<MigrateOptions> = {},
  ): Promise<void> => migrate(on, { migrations, lock: LOCK, log, clock: systemClock, ...rest });
  const rowsOf = async (sql: string): Promise<unknown[]> =>
    (await pool.query<Record<string, unknown>>(sql)).rows.map((row) => Object.values(row)[0]);
  const applied = (): Promise<unknown[]> => rowsOf('SELECT version FROM schema_migrations ORDER BY version');
  const validity = (): Promise<unknown[]> =>
    rowsOf(`SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('t_a')`);

  beforeEach(async () => {
    pools = [];
    ({ uri } = await postgres.freshDatabase());
    pool = open();
  });
  afterEach(() => Promise.all(pools.map((one) => one.end())));

  it('applies each migration once and records it', async () => {
    await run(pool, [TABLE]);
    await run(pool, [TABLE, INDEX]);
    await run(pool, [TABLE, INDEX]);
    expect(await applied()).toEqual([1, 2]);
    expect(await validity()).toEqual([true]);
  });

  it('lets processes that start at once take turns, CREATE INDEX CONCURRENTLY included', async () => {
    await Promise.all([open(), open(), open(), open()].map((one) => run(one, [TABLE, INDEX])));
    expect(await applied()).toEqual([1, 2]);
    expect(await validity()).toEqual([true]);
  });

  it('keeps its record in the schema and table it was given', async () => {
    await run(pool, [TABLE], { schema: 'agents', table: 'steps' });
    await run(pool, [TABLE], { schema: 'agents', table: 'steps' });
    expect(await rowsOf('SELECT version FROM agents.steps')).toEqual([1]);
  });

  it('leaves nothing of a migration that fails half way, and gives its turn back', async () => {
    const broken: Migration = {
      version: 2,
      name: 'broken',
      sql: 'CREATE TABLE v (a int); SELECT 1 / 0',
    };
    await expect(run(pool, [TABLE, broken])).rejects.toThrow('division by zero');
    expect(await applied()).toEqual([1]);
    expect(await rowsOf(`SELECT to_regclass('v')`)).toEqual([null]);
    await run(open(), [TABLE, { ...broken, sql: 'CREATE TABLE v (a int)' }]);
    expect(await applied()).toEqual([1, 2]);
  });

  it('leaves a schema that is newer than the program alone', async () => {
    await run(pool, [TABLE, { version: 2, name: 'later', sql: 'CREATE TABLE v (a int)' }]);
    await run(pool, [TABLE]);
    expect(await applied()).toEqual([1, 2]);
  });

  it('finishes a concurrent index whose first build was killed', async () => {
    await run(pool, [TABLE]);
    // an open transaction that has written to the table holds the build in its middle
    const holder = await open().connect();
    await holder.query('BEGIN; INSERT INTO t VALUES (1)');
    const killed = run(open(), [TABLE, INDEX]);
    killed.catch(() => undefined);
    const building = await waitFor(async () => {
      const found = await rowsOf(
        `SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY t_a%' AND wait_event_type = 'Lock'`,
      );
      return found[0];
    });
    await pool.query('SELECT pg_terminate_backend($1)', [building]);
    await expect(killed).rejects.toThrow();
    expect(await validity()).toEqual([false]);
    await holder.query('COMMIT');
    holder.release();
    await run(open(), [TABLE, INDEX]);
    expect(await applied()).toEqual([1, 2]);
    expect(await validity()).toEqual([true]);
  });

  it('lets others use a table while a migration waits for it', async () => {
    await run(pool, [TABLE]);
    const reader = await open().connect();
    await reader.query('BEGIN; SELECT * FROM t');
    const migrating = run(open(), [TABLE, { version: 2, name: 'column', sql: 'ALTER TABLE t ADD b int' }]);
    await waitFor(async () => {
      const found = await rowsOf(
        `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE t%' AND wait_event_type = 'Lock'`,
      );
      return found[0];
    });
    // waits behind the migration, which yields
    await pool.query('SELECT * FROM t');
    await reader.query('COMMIT');
    reader.release();
    await migrating;
    expect(await applied()).toEqual([1, 2]);
  });

  it('waits for the turn of a process that has not finished, and goes on when its session ends', async () => {
    const other = await open().connect();
    await other.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const tries = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'`;
    const waiting = run(open(), [TABLE]);
    await waitFor(async () => (await rowsOf(tries)).length > 0);
    expect(await rowsOf(`SELECT 1 FROM pg_tables WHERE tablename = 't'`)).toEqual([]);
    other.release(true);
    await waiting;
    expect(await applied()).toEqual([1]);
  });

  it('performs the preparation under the lock, before the first migration that is missing', async () => {
    const locks: unknown[] = [];
    const prepare = async (): Promise<void> => {
      locks.push(...(await rowsOf(`SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory'`)));
      await pool.query('CREATE TABLE IF NOT EXISTS foreign_table (a int)');
    };
    const migration: Migration = { version: 1, name: 'add', sql: 'ALTER TABLE foreign_table ADD b int' };
    await run(pool, [migration], { prepare });
    await run(pool, [migration], { prepare });
    expect(locks).toEqual([1]);
    await run(pool, [migration, { version: 2, name: 'more', sql: 'SELECT 1' }], { prepare });
    expect(locks).toEqual([1, 1]);
  });
});
