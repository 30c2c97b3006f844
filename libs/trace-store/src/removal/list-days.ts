import type { Queryable } from '#lib/postgres';
import type { Instant } from '#lib/time';
import { rangeOfName } from '../ingestion/partition-range.js';

/** Days that share a partition of runs; open at an end that is undefined. */
export interface PartitionDays {
  readonly from: Instant | undefined;
  /** Exclusive. */
  readonly to: Instant | undefined;
}

const BEFORE_1970 = 'runs_before_1970';
const YEAR_1970: Instant = 0n;
const YEAR_2100: Instant = 4_102_444_800_000_000n;

/** The days of all partitions, the oldest first. */
export async function listDays(db: Queryable): Promise<readonly PartitionDays[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'runs'::regclass`,
  );
  const days = rows.map(
    ({ name }): PartitionDays =>
      rangeOfName(name) ??
      (name === BEFORE_1970 ? { from: undefined, to: YEAR_1970 } : { from: YEAR_2100, to: undefined }),
  );
  return days.sort((one, other) => ((one.from ?? -1n) < (other.from ?? -1n) ? -1 : 1));
}
