import pg from 'pg';

/** Classes and codes of SQLSTATE that pass: connection, shutdown and start of the server, deadlock, too many. */
const PASSING = /^(08|40|57P0[1-3]|53300)/;
const DATA_EXCEPTION = /^22/;

/** Codes of the network. */
const NETWORK_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
]);

/**
 * Whether the database could not be asked, so that the same statement may succeed a little later. Answers of the
 * database itself have a class of their own; whatever else a statement fails with comes from the connection.
 */
export function isStatementLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return PASSING.test(error.code ?? '');
  return error instanceof Error;
}

/** The same for errors that may come from anywhere: only what is surely the database's. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return PASSING.test(error.code ?? '');
  return error instanceof Error && 'code' in error && NETWORK_CODES.has(error.code);
}

/** Whether the database refused a value as such: trying again cannot help. */
export function isRefusedValue(error: unknown): boolean {
  return error instanceof pg.DatabaseError && DATA_EXCEPTION.test(error.code ?? '');
}
