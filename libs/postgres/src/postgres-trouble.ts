import pg from 'pg';
import { NoAnswerError } from './no-answer-error.js';

/**
 * Meaning of a failed statement to its caller:
 * - `unavailable`: the server could not be asked, refused the login, or was ending; the same statement may
 *   succeed a little later, and may have been performed already. A refused login is not final: a password or
 *   a database may be on its way, and another program may hold the port while the server starts again.
 * - `conflict`: it met another transaction (deadlock, serialization, a lock not granted in time); nothing of
 *   it was performed, another attempt sees other data.
 * - `refused`: a value is not valid for its type; another attempt cannot help.
 */
export type PostgresTrouble = 'unavailable' | 'conflict' | 'refused';

// classes and codes of SQLSTATE: connection; refused login, unknown database; shutdown, crash, start and idle time-out of
// the server; disk full, out of memory, too many clients
const UNAVAILABLE = /^(08|28|3D000|57P0[1235]|53[123]00|25P0[34])/;
const CONFLICT = /^(40|55P03)/;
const REFUSED = /^22/;

/** The one classification of database trouble; undefined for everything else, errors of other origin included. */
export function postgresTrouble(error: unknown): PostgresTrouble | undefined {
  if (error instanceof NoAnswerError) return 'unavailable';
  const state = sqlState(error);
  if (state === undefined) return undefined;
  if (UNAVAILABLE.test(state) || endsSession(error)) return 'unavailable';
  if (CONFLICT.test(state)) return 'conflict';
  return REFUSED.test(state) ? 'refused' : undefined;
}

/** FATAL and PANIC end the connection, whatever their code; translated servers have other words for them. */
function endsSession(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(FATAL|PANIC)$/.test(error.severity ?? '');
}

/** True when the server has no space left for the data that it was asked to store. */
export function isStorageFull(error: unknown): boolean {
  return sqlState(error) === '53100';
}

/** The server's SQLSTATE; undefined when the error is no answer of a server. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
