import type pg from 'pg';

/** What a single query needs; a pool or one of its connections. */
export type Queryable = Pick<pg.Pool, 'query'>;

/**
 * Runs `work` in a transaction. A connection whose rollback failed is not used again.
 * @param begin the statement that opens it, for example with locks taken in the same round trip
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  begin = 'BEGIN',
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: Error) => (broken = failure));
    throw error;
  } finally {
    client.release(broken);
  }
}
