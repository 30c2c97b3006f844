import { PublicError } from '#lib/errors';
import {
  type Connection,
  inLimitedTransaction,
  type Pool,
  type Queryable,
  TimeLimitError,
} from '#lib/postgres';
import type { Instant } from '#lib/time';

/** The time by the database's clock, which decides about rows, whatever the clock of this machine shows. */
export async function databaseNow(
  connection: Pick<Connection, 'query'> | Pick<Pool, 'query'>,
): Promise<Instant> {
  const { rows } = await connection.query<{ micros: string }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text AS micros`,
  );
  return BigInt(rows[0]?.micros ?? 0);
}

/**
 * Performs one step after the other, also those after one that fails.
 * @throws the errors of the steps
 */
export async function eachStep(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps)
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  const [first] = errors;
  if (errors.length > 1) throw new AggregateError(errors, 'several steps failed', { cause: first });
  if (errors.length === 1) throw first;
}

const DEFAULT_LIMIT_MS = 5_000;

/** Time limit of a read, and the parts of its error message. */
export interface ReadLimit {
  /** Subject of the sentence. */
  readonly what: string;
  /** Advice that the message gives instead. */
  readonly advice: string;
  /** Limit of each statement; 5 s when absent. */
  readonly limitMs?: number;
  /** True when all of its statements read one snapshot. */
  readonly isOneMoment?: boolean;
  /** True when it begins as one that may change rows, and ends that itself. */
  readonly mayChange?: boolean;
}

/** Remainder of a limit since the transaction began; a millisecond at least, since 0 would mean no limit. */
const LEFT = `SELECT set_config('statement_timeout',
  greatest(1, $1 - extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000)::int::text, true)`;

/**
 * A connection whose statements share the limit of time of its transaction: for a read of many, or of a number that depends
 * on the stored data.
 */
export function withinAll(
  db: Connection,
  { limitMs = DEFAULT_LIMIT_MS }: Pick<ReadLimit, 'limitMs'>,
): Queryable {
  return {
    async query(...statement: Parameters<Queryable['query']>) {
      await db.query(LEFT, [limitMs]);
      return db.query(...statement);
    },
  } as Queryable;
}

/**
 * Reads data that a caller selected, at a cost that grows with the amount of stored data.
 * @throws PublicError bad_request when a statement takes too long: a retry would take as long
 */
export async function limitedRead<T>(
  pool: Pool,
  read: (db: Connection) => Promise<T>,
  { what, advice, limitMs = DEFAULT_LIMIT_MS, isOneMoment = false, mayChange = false }: ReadLimit,
): Promise<T> {
  try {
    return await inLimitedTransaction(pool, { limitMs, isOneMoment, mayChange }, read);
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    throw new PublicError('bad_request', `${what} took longer than ${limitMs / 1_000} s: ${advice}`, [], {
      cause: error,
    });
  }
}
