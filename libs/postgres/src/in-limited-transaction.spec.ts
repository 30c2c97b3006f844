import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { inLimitedTransaction, TimeLimitError } from './in-limited-transaction.js';
import { openPool, type Pool } from './open-pool.js';

const postgres = testPostgres();
let pool: Pool;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  pool = openPool({
    uri,
    applicationName: 'limited',
    log: createLogger('test', 'silent'),
    maxConnections: 2,
  });
});
afterAll(() => pool.end());

async function isSleeping(): Promise<boolean> {
  const { rowCount } = await pool.query(
    `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'`,
  );
  return rowCount === 1;
}

const sleep = (left?: AbortSignal, limitMs = 60_000): Promise<unknown> =>
  inLimitedTransaction(pool, { limitMs, left }, (db) => db.query('SELECT pg_sleep(30)'));

describe('a transaction with a time limit', () => {
  it('ends a statement that takes longer', async () => {
    const failure = await sleep(undefined, 50).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TimeLimitError);
    expect(failure).toHaveProperty('limitMs', 50);
  });

  it('cancels the statement of a client that leaves, and lends its connection on', async () => {
    const left = new AbortController();
    const failure = sleep(left.signal).catch((error: unknown) => error);
    await waitFor(isSleeping);
    left.abort(new Error('gone'));
    expect(await failure).toHaveProperty('message', 'gone');
    expect(await isSleeping()).toBe(false);
    const answers = await Promise.all([1, 2, 3, 4].map((n) => pool.query(`SELECT ${n} AS n`)));
    expect(answers.map(({ rows: [row] }) => (row as { n: number }).n)).toEqual([1, 2, 3, 4]);
  });

  it('asks nothing for a client that has left', async () => {
    await expect(sleep(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  });

  it('changes rows where that is wanted, and nowhere else', async () => {
    const change = (mayChange: boolean): Promise<unknown> =>
      inLimitedTransaction(pool, { limitMs: 5_000, mayChange }, (db) => db.query('CREATE TABLE made ()'));
    await expect(change(false)).rejects.toThrow('read-only transaction');
    await expect(change(true)).resolves.toBeDefined();
  });
});
