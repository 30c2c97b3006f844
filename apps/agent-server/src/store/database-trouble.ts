import pg from 'pg';

/** Classes and codes of SQLSTATE that pass: connection, shutdown and start of the server, deadlock, too many. */
const PASSING = /^(08|40|57P0[1-3]|53300)/;
const DATA_EXCEPTION = /^22/;

/** A statement without an answer: its connection broke, or there was none to be had. It may have been performed. */
class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** Answers of the database have a class of their own; whatever else a statement fails with comes from the connection. */
function named(error: unknown): unknown {
  if (error instanceof pg.DatabaseError || error instanceof NoAnswerError) return error;
  return new NoAnswerError('the database gave no answer', { cause: error });
}

type Failing = (...given: unknown[]) => Promise<unknown>;

/** Gives a pool's own errors, which have neither class nor code, one that can be told from others. */
export function withNamedFailures(pool: pg.Pool): pg.Pool {
  const query = pool.query.bind(pool) as unknown as Failing;
  const connect = pool.connect.bind(pool) as unknown as Failing;
  const rename = (error: unknown): never => {
    throw named(error);
  };
  pool.query = ((...given: unknown[]) => query(...given).catch(rename)) as unknown as typeof pool.query;
  // the pool itself calls it with a function to call back
  pool.connect = ((...given: unknown[]) =>
    given.length > 0 ? connect(...given) : connect().catch(rename)) as unknown as typeof pool.connect;
  return pool;
}

/** Whether the database could not be asked, so that the same statement may succeed a little later. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return PASSING.test(error.code ?? '');
  return error instanceof NoAnswerError;
}

/** Whether the database refused a value as such: trying again cannot help. */
export function isRefusedValue(error: unknown): boolean {
  return error instanceof pg.DatabaseError && DATA_EXCEPTION.test(error.code ?? '');
}
