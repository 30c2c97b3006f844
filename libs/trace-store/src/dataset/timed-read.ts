import { PublicError } from '#lib/errors';
import { inTransaction, sqlState, type Connection, type Pool } from '#lib/postgres';

/** A condition that no index serves may read a whole dataset. */
const TIME_LIMIT_MS = 5_000;
/** SQLSTATE of a statement that took longer. */
const QUERY_CANCELED = '57014';

const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${TIME_LIMIT_MS}; SET LOCAL jit = off`;

/**
 * Reads with a limit of time, all of it from one moment.
 * @param what is done, for the error
 * @throws PublicError bad_request when a statement takes too long
 */
export async function timedRead<T>(
  pool: Pool,
  read: (db: Connection) => Promise<T>,
  what: string,
): Promise<T> {
  try {
    return await inTransaction(pool, read, BEGIN);
  } catch (error) {
    if (sqlState(error) !== QUERY_CANCELED) throw error;
    throw new PublicError(
      'bad_request',
      `${what} took longer than ${TIME_LIMIT_MS / 1_000} s: ask for fewer, or without metadata and splits`,
    );
  }
}
