import type { Connection, Pool } from './open-pool.js';

/**
 * Performs `work` in a transaction. A connection whose rollback failed is not used again.
 * @param begin the statement that opens it, for example with locks taken in the same round trip
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (connection: Connection) => Promise<T>,
  begin = 'BEGIN',
): Promise<T> {
  const connection = await pool.connect();
  let broken: Error | undefined;
  try {
    await connection.query(begin);
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    await connection.query('ROLLBACK').catch((failure: Error) => (broken = failure));
    throw error;
  } finally {
    connection.release(broken);
  }
}
