import { type Connection, inTransaction, type Pool, sqlState } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { dayOf, formatInstant } from '#lib/time';
import { databaseNow } from '../database-now.js';
import { DAY_TABLES, PARTITIONS_LOCK } from '../ingestion/day-partitions.js';
import { type DayRange, rangeSuffix, RECENT } from '../ingestion/partition-range.js';
import { listDays } from './list-days.js';

/** SQLSTATE of a lock that was waited for too long, and of two that wait for one another. */
const IN_USE = new Set(['55P03', '40P01']);

/**
 * Drops the partitions of past days whose runs were all removed: their files and indexes are removed, and
 * statements no longer look into them. The lock blocks all others, so the wait for it is limited to half a
 * second, less than Postgres takes to break a deadlock: other parties of one continue. A table in use is left
 * for later.
 */
export async function dropEmptyDays(pool: Pool, log: Logger): Promise<void> {
  const past = dayOf(await databaseNow(pool)) - RECENT;
  for (const { from, to } of await listDays(pool)) {
    if (from === undefined || to === undefined || to > past || !(await isEmpty(pool, { from, to }))) continue;
    try {
      const isDropped = await inTransaction(pool, (client) => dropIfEmpty(client, { from, to }));
      if (isDropped)
        log.info({ days: rangeSuffix({ from, to }) }, 'dropped the partitions of days without runs');
    } catch (error) {
      if (!IN_USE.has(sqlState(error) ?? '')) throw error;
      log.info(
        { days: rangeSuffix({ from, to }) },
        'partitions of days without runs are in use; dropping them later',
      );
      return;
    }
  }
}

async function isEmpty(pool: Pool, { from, to }: DayRange): Promise<boolean> {
  const { rows } = await pool.query<{ is_empty: boolean }>(
    'SELECT NOT EXISTS (SELECT FROM runs WHERE start_time >= $1 AND start_time < $2) AS is_empty',
    [formatInstant(from), formatInstant(to)],
  );
  return rows[0]?.is_empty ?? false;
}

/** @returns false when a run arrived meanwhile */
async function dropIfEmpty(client: Connection, days: DayRange): Promise<boolean> {
  await client.query(`SET LOCAL lock_timeout = '500ms'; SELECT pg_advisory_xact_lock(${PARTITIONS_LOCK})`);
  await client.query(
    `LOCK TABLE ${DAY_TABLES.map((name) => `ONLY ${name}`).join()} IN ACCESS EXCLUSIVE MODE`,
  );
  const partitions = DAY_TABLES.map((name) => `${name}_${rangeSuffix(days)}`);
  const found = await client.query<{ is_empty: boolean }>(
    `SELECT ${partitions.map((name) => `NOT EXISTS (SELECT FROM ${name})`).join(' AND ')} AS is_empty`,
  );
  if (!found.rows[0]?.is_empty) return false;
  await client.query(`DROP TABLE ${partitions.join()}`);
  return true;
}
