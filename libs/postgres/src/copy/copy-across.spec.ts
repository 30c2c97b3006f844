import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { inTransaction } from '../in-limited-transaction.js';
import { openPool, type Pool } from '../open-pool.js';
import { postgresTrouble, sqlState } from '../postgres-trouble.js';
import { copyAcross } from './copy-across.js';

/** Its names have to be quoted. */
const TABLE = 'CREATE TABLE "order" (id int, "user" text)';
/** Some 5 MB: more than streams and sockets hold. */
const ROWS = 5_000;
/** Index of a row in the middle, so that the target has taken many and many more are to come. */
const MIDDLE = 2_000;

const onMiddle = (action: string): string => `
  CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.id = ${MIDDLE} THEN PERFORM ${action}; END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER act BEFORE INSERT ON "order" FOR EACH ROW EXECUTE FUNCTION act()`;

describe('a copy across', () => {
  const pools: Pool[] = [];
  // in the order of their registration: pools end before their Postgres does
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
  });

  const postgres = testPostgres();
  let source: Pool;

  async function database(...statements: readonly string[]): Promise<Pool> {
    const { uri } = await postgres.freshDatabase();
    const pool = openPool({ uri, applicationName: 'copying', log: createLogger('test', 'silent') });
    pools.push(pool);
    for (const statement of [TABLE, ...statements]) await pool.query(statement);
    return pool;
  }

  const copy = (target: Pool, watch?: (end: () => void) => void): Promise<unknown> =>
    inTransaction(source, (reading) =>
      inTransaction(target, (writing) => {
        watch?.(() => writing.connection.stream.destroy());
        return copyAcross(reading, writing, { table: 'order', columns: ['id', 'user'] });
      }),
    ).catch((error: unknown) => error);

  const count = async (pool: Pool): Promise<unknown> =>
    (await pool.query('SELECT count("user")::int AS count FROM "order"')).rows;

  beforeAll(async () => {
    const rows = `SELECT i, repeat('x', 1000) FROM generate_series(1, ${ROWS}) AS g(i)`;
    source = await database(`INSERT INTO "order" ${rows}`);
  });

  it('writes all rows', async () => {
    const target = await database();
    expect(await copy(target)).toBe(ROWS);
    expect(await count(target)).toEqual([{ count: ROWS }]);
    expect(source.totalCount).toBe(1);
  });

  it('reports the bytes of each chunk that passes', async () => {
    const target = await database();
    const chunks: number[] = [];
    const passed = (bytes: number): void => void chunks.push(bytes);
    const rows = await inTransaction(source, (reading) =>
      inTransaction(target, (writing) =>
        copyAcross(reading, writing, { table: 'order', columns: ['id', 'user'], passed }),
      ),
    );
    expect(rows).toBe(ROWS);
    expect(chunks.length).toBeGreaterThan(10);
    expect(chunks.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(ROWS * 1000);
  });

  it('reports the answer of a target that refuses a row, and gives up the source', async () => {
    const target = await database(`ALTER TABLE "order" ADD CHECK (id < ${MIDDLE})`);
    expect(sqlState(await copy(target))).toBe('23514');
    expect(source.totalCount).toBe(0);
    expect([await count(source), await count(target)]).toEqual([[{ count: ROWS }], [{ count: 0 }]]);
  });

  // a server that ends with rows unread resets the connection, which may overtake its last words
  it('fails as unavailable when the target ends the session, and gives up the source', async () => {
    const target = await database(onMiddle('pg_terminate_backend(pg_backend_pid())'));
    expect(postgresTrouble(await copy(target))).toBe('unavailable');
    expect(source.totalCount).toBe(0);
    expect([await count(source), await count(target)]).toEqual([[{ count: ROWS }], [{ count: 0 }]]);
  });

  it('fails as unavailable when the connection of the target is cut', async () => {
    const target = await database(onMiddle('pg_sleep(600)'));
    const error = await copy(target, (end) => {
      const sleeps = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
      void waitFor(async () => (await target.query(sleeps)).rowCount === 1).then(end, end);
    });
    expect(postgresTrouble(error)).toBe('unavailable');
    expect(source.totalCount).toBe(0);
    expect(await count(source)).toEqual([{ count: ROWS }]);
  });
});
