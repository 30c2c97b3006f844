import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openPool, type Pool, type Queryable } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { limitedRead, withinAll } from './limited-read.js';

describe('a read with a limit', () => {
  let pool: Pool;
  afterAll(() => pool.end());
  const postgres = testPostgres();
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    pool = openPool({ uri, applicationName: 'limits', log: createLogger('test', 'silent') });
  });

  const LIMIT = { what: 'Reading it', advice: 'ask for less', limitMs: 1_000 };
  const twice = async (db: Queryable): Promise<string> => {
    await db.query('SELECT pg_sleep(0.6)');
    await db.query('SELECT pg_sleep(0.6)');
    return 'read';
  };

  it('counts each statement by itself', async () => {
    expect(await limitedRead(pool, twice, LIMIT)).toBe('read');
  });

  it('counts all statements together where that is asked for', async () => {
    const together = limitedRead(pool, (db) => twice(withinAll(db, LIMIT)), LIMIT);
    await expect(together).rejects.toMatchObject({
      code: 'bad_request',
      message: 'Reading it took longer than 1 s: ask for less',
    });
    const { rows } = await pool.query<{ statement_timeout: string }>('SHOW statement_timeout');
    expect(rows[0]?.statement_timeout).toBe('0');
  });
});
