import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { openPool, type Connection, type Pool } from '../open-pool.js';
import { postgresTrouble, sqlState } from '../postgres-trouble.js';
import { CopyBinaryReader } from './copy-binary-reader.js';
import { copyOut } from './copy-across.js';
import type { CopyRows } from './copy-across.js';

const DIVISION_BY_ZERO = '22012';

describe('a stream of rows', () => {
  const postgres = testPostgres();
  let pool: Pool;
  let connection: Connection;
  const ended: Connection[] = [];

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    pool = openPool({ uri, applicationName: 'reading', log: createLogger('test', 'silent') });
    connection = await pool.connect();
    await connection.query(`
      CREATE FUNCTION noisy(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        RAISE NOTICE 'row %', i;
        PERFORM set_config('application_name', 'reading ' || i, false);
        RETURN i;
      END $$`);
  });
  afterAll(async () => {
    for (const given of [connection, ...ended]) given.release(true);
    await pool.end();
  });

  /** The lengths of the only field of each row. */
  async function lengths(rows: CopyRows): Promise<readonly number[]> {
    const reader = new CopyBinaryReader(1);
    const found: number[] = [];
    for await (const chunk of rows) {
      reader.push(chunk as Buffer);
      while (reader.next()) found.push(reader.lengths[0] ?? -1);
    }
    expect(reader.isFinished).toBe(true);
    return found;
  }
  /** True when the driver reads the connection again. */
  const answers = async (): Promise<boolean> => (await connection.query('SELECT 1')).rowCount === 1;
  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'no error',
      (error: unknown) => error,
    );

  // lengths of 1 to 70,000: heads of messages cross chunks of the socket at every place
  it('has every row whole, wherever chunks of the connection end', async () => {
    const length = (i: number) => (i % 100 === 0 ? 70_000 : 1 + ((i * 7) % 2_003));
    const sql = 'CASE WHEN i % 100 = 0 THEN 70000 ELSE 1 + (i * 7) % 2003 END';
    const rows = copyOut(connection, `SELECT repeat('x', ${sql}) FROM generate_series(1, 20000) AS g(i)`);
    expect(await lengths(rows)).toEqual(Array.from({ length: 20_000 }, (_, at) => length(at + 1)));
    expect(await answers()).toBe(true);
    expect(rows.rowCount).toBe(20_000);
  });

  it('ends at once where the query finds no row', async () => {
    const rows = copyOut(connection, `SELECT 'x' WHERE false`);
    expect(await lengths(rows)).toEqual([]);
    expect([await answers(), rows.rowCount]).toEqual([true, 0]);
  });

  it('passes over notices and changed settings between rows', async () => {
    const rows = copyOut(connection, 'SELECT noisy(i)::text FROM generate_series(1, 1000) AS g(i)');
    expect(await lengths(rows)).toHaveLength(1_000);
    expect([await answers(), rows.rowCount]).toEqual([true, 1_000]);
  });

  it.each([
    ['before the first row', 'SELECT nothing'],
    ['after many rows', 'SELECT repeat((1 / (5000 - i))::text, 1000) FROM generate_series(1, 6000) AS g(i)'],
  ])('ends with the error of the server %s, and keeps the connection usable', async (_when, query) => {
    const error = await failure(lengths(copyOut(connection, query)));
    expect(sqlState(error)).toBe(query.includes('5000') ? DIVISION_BY_ZERO : '42703');
    expect(await answers()).toBe(true);
  });

  it('leaves rows on the connection until they are read', async () => {
    const rows = copyOut(connection, `SELECT repeat('x', 1000) FROM generate_series(1, 50000)`);
    await once(rows, 'readable');
    const { stream } = (connection as unknown as { connection: { stream: { bytesRead: number } } })
      .connection;
    let before = -1;
    await waitFor(
      () => {
        const isStill = stream.bytesRead === before;
        before = stream.bytesRead;
        return isStill;
      },
      { intervalMs: 200 },
    );
    const begun = stream.bytesRead;
    expect(await lengths(rows)).toHaveLength(50_000);
    expect(stream.bytesRead - begun).toBeGreaterThan(40_000_000);
  });

  it('fails as unavailable when the session is terminated', async () => {
    const doomed = await pool.connect();
    ended.push(doomed);
    const { rows: own } = await doomed.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const rows = copyOut(doomed, `SELECT repeat('x', 1000) FROM generate_series(1, 1000000)`);
    await once(rows, 'readable');
    await pool.query('SELECT pg_terminate_backend($1)', [own[0]?.pid]);
    expect(postgresTrouble(await failure(lengths(rows)))).toBe('unavailable');
  });

  it('leaves no statement at work when it is destroyed early', async () => {
    const leaving = await pool.connect();
    const { rows: own } = await leaving.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const rows = copyOut(leaving, `SELECT repeat('x', 1000) FROM generate_series(1, 1000000)`);
    await once(rows, 'readable');
    rows.destroy();
    await finished(rows).catch(() => undefined);
    leaving.release(true);
    const isAtWork = 'SELECT FROM pg_stat_activity WHERE pid = $1';
    await waitFor(async () => (await pool.query(isAtWork, [own[0]?.pid])).rowCount === 0);
  });
});
