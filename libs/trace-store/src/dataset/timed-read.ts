import type { Connection, Pool } from '#lib/postgres';
import { limitedRead } from '../limited-read.js';

/**
 * Reads of a dataset, all of it from one moment: a condition that no index serves may read the whole.
 * @param what name of the operation, for the error
 * @throws PublicError bad_request when a statement takes too long
 */
export function timedRead<T>(pool: Pool, read: (db: Connection) => Promise<T>, what: string): Promise<T> {
  const advice = 'ask for fewer, or without metadata and splits';
  return limitedRead(pool, read, { what, advice, isOneMoment: true });
}
