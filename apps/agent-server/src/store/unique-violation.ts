import { sqlState } from '#lib/postgres';

const UNIQUE_VIOLATION = '23505';

/** Two servers met on one thread: the index that allows one run at work refused the second. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}
