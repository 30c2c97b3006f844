import type { Connection, Pool } from './open-pool.js';
import { sendWithNext, takeUnsent } from './send-with-next.js';

/**
 * Performs `work` in a transaction. A connection whose rollback failed is not used again.
 * @param begin the statements that open it, for example with locks; they are sent with the first one of `work`
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (connection: Connection) => Promise<T>,
  begin: readonly string[] = ['BEGIN'],
): Promise<T> {
  const connection = await pool.connect();
  let broken: Error | undefined;
  // if no statement was sent, no transaction was opened
  const isUnbegun = (): boolean => takeUnsent(connection)[0] === begin[0];
  try {
    await sendWithNext(connection, begin);
    const result = await work(connection);
    if (!isUnbegun()) await connection.query('COMMIT');
    return result;
  } catch (error) {
    if (!isUnbegun()) await connection.query('ROLLBACK').catch((failure: Error) => (broken = failure));
    throw error;
  } finally {
    connection.release(broken);
  }
}
