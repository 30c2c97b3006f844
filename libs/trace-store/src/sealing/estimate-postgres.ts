import type { Queryable } from '#lib/postgres';
import { parseInstant } from '#lib/time';
import { rangeOfName } from '../ingestion/day-partitions.js';
import type { LakeDay } from './lake.js';

/**
 * Estimates the bytes that Postgres holds of the payloads of days: those of their partition, shared out by the number of
 * runs whose payloads are in no file. The number of rows of a partition is that of its last ANALYZE.
 * @returns one for each day, in their order
 */
export async function estimatePostgres(
  db: Queryable,
  days: readonly Pick<LakeDay, 'day' | 'looseRows'>[],
): Promise<readonly number[]> {
  const { rows: tables } = await db.query<{ name: string; rows: number; bytes: string }>(
    `SELECT c.relname AS name, c.reltuples AS rows, pg_total_relation_size(c.oid) AS bytes
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'run_payloads'::regclass`,
  );
  const partitions = tables.map((table) => ({ ...table, range: rangeOfName(table.name) }));
  return days.map(({ day, looseRows }) => {
    const start = parseInstant(`${day}T00:00:00Z`, { zone: 'required' });
    const partition = partitions.find(
      ({ range }) => range && start !== undefined && range.from <= start && start < range.to,
    );
    if (!partition || looseRows === 0) return 0;
    return Math.round((Number(partition.bytes) * looseRows) / Math.max(looseRows, partition.rows));
  });
}
