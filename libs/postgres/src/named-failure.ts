import pg from 'pg';
import { NoAnswerError } from './no-answer-error.js';

/**
 * The driver reports a broken connection as a plain Error, often without a code. Everything that is neither an answer
 * of the server nor a mistake of the caller (a value that cannot be sent, a row that cannot be parsed) becomes a
 * NoAnswerError.
 */
export function namedFailure(error: unknown): unknown {
  const isNamed = error instanceof pg.DatabaseError || error instanceof NoAnswerError;
  const isMistake = error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
  return isNamed || isMistake ? error : new NoAnswerError(error);
}

/** Callback for `catch` of a promise. */
export function throwNamed(error: unknown): never {
  throw namedFailure(error);
}
