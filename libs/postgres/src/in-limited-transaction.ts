import { GuardedClient } from './guarded-client.js';
import type { Connection, Pool } from './open-pool.js';
import { sqlState } from './postgres-trouble.js';

/** Performs statements without parameters right before the next query of the connection, in one round trip with it. */
export async function sendWithNext(connection: Connection, statements: readonly string[]): Promise<void> {
  if (connection instanceof GuardedClient) connection.lead(statements);
  else await connection.query(statements.join('; '));
}

/** Takes back the statements that no query has followed. */
function takeUnsent(connection: Connection): readonly string[] {
  return connection instanceof GuardedClient ? connection.takeLead() : [];
}

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

/** SQLSTATE of a statement that was cancelled, by its time limit or by another session. */
const QUERY_CANCELED = '57014';

export interface TimeLimit {
  /** Limit of each statement, in milliseconds. */
  readonly limitMs: number;
  /** Cancels the current statement when it is aborted; its reason is thrown then. */
  readonly left?: AbortSignal | undefined;
  /** True when it may change rows; else Postgres refuses to. */
  readonly mayChange?: boolean;
  /** True when all of its statements read one snapshot. */
  readonly isOneMoment?: boolean;
}

/** A statement took longer than its time limit. */
export class TimeLimitError extends Error {
  constructor(
    readonly limitMs: number,
    options: ErrorOptions,
  ) {
    super(`statement stopped after its limit of ${limitMs} ms`, options);
    this.name = 'TimeLimitError';
  }
}

/**
 * Performs `work`, whose cost grows with the amount of stored data, in a transaction with a limit of time for
 * each statement. No work continues in Postgres for a caller who has left: ending the client's connection
 * alone would not stop a statement there.
 * @throws TimeLimitError; the reason of `left`
 */
export async function inLimitedTransaction<T>(
  pool: Pool,
  { limitMs, left, mayChange = false, isOneMoment = false }: TimeLimit,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const mode = `${isOneMoment ? ' ISOLATION LEVEL REPEATABLE READ' : ''}${mayChange ? '' : ' READ ONLY'}`;
  const begin = [`BEGIN${mode}`, `SET LOCAL statement_timeout = ${limitMs}`, 'SET LOCAL jit = off'];
  try {
    left?.throwIfAborted();
    return await inTransaction(
      pool,
      (connection) => (left ? cancelledOn(left, pool, connection, work) : work(connection)),
      begin,
    );
  } catch (error) {
    if (sqlState(error) !== QUERY_CANCELED) throw error;
    if (left?.aborted) throw left.reason;
    throw new TimeLimitError(limitMs, { cause: error });
  }
}

/**
 * Performs the last work of a transaction with another limit of time for each of its statements. After a TimeLimitError
 * no more statement can follow.
 * @throws TimeLimitError
 */
export async function withinLimit<T>(
  connection: Connection,
  limitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  try {
    await sendWithNext(connection, [`SET LOCAL statement_timeout = ${limitMs}`, 'SET LOCAL jit = off']);
    return await work();
  } catch (error) {
    if (sqlState(error) !== QUERY_CANCELED) throw error;
    throw new TimeLimitError(limitMs, { cause: error });
  }
}

/**
 * A cancellation that was sent is waited for, with the connection: it would otherwise hit its next statement.
 * One that found no connection of the pool free in time is not sent any more, and the time limit decides.
 */
async function cancelledOn<T>(
  left: AbortSignal,
  pool: Pool,
  connection: Connection,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  // the id of the session itself: behind a pooler, the one that the driver was given names another
  const { rows } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  let isOver = false;
  let sent: Promise<unknown> | undefined;
  const cancel = async (): Promise<void> => {
    const other = await pool.connect();
    try {
      if (isOver) return;
      sent = other.query('SELECT pg_cancel_backend($1)', [rows[0]?.pid]);
      await sent;
    } finally {
      other.release();
    }
  };
  const onLeft = (): void => void cancel().catch(() => undefined); // the limit ends it all the same
  left.addEventListener('abort', onLeft, { once: true });
  try {
    left.throwIfAborted();
    return await work(connection);
  } finally {
    isOver = true;
    left.removeEventListener('abort', onLeft);
    await sent?.catch(() => undefined);
  }
}
