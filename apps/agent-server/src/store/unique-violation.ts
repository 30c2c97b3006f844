import { sqlState } from '#lib/postgres';

const UNIQUE_VIOLATION = '23505';

/**
 * Returns true when two servers met on one thread: the index that allows one run in progress refused the
 * second.
 */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}
