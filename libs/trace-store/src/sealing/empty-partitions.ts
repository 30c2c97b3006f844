import { inTransaction, type Pool, sqlState } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';

/** SQLSTATE of a lock that was waited for too long, and of two that wait for one another. */
const IN_USE = new Set(['55P03', '40P01']);
/** Bytes of an empty partition with its indexes, at most. */
const EMPTY_BYTES = 128 << 10;

/**
 * Gives the disk space of payload partitions back whose rows are all sealed. VACUUM takes the pages of the rows away once
 * no snapshot can see them, and only then the partition is truncated, which gives back its indexes: truncated at once,
 * a reader with an older snapshot would find neither its payloads nor their segment. It needs the table for itself: one
 * that is in use for half a second is left for later.
 */
export async function giveBackPartitions(pool: Pool, log: Logger): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'run_payloads'::regclass AND pg_total_relation_size(c.oid) > $1 ORDER BY 1`,
    [EMPTY_BYTES],
  );
  for (const { name } of rows) {
    const found = await pool.query<{ is_empty: boolean }>(
      `SELECT NOT EXISTS (SELECT FROM ${name}) AS is_empty`,
    );
    if (found.rows[0]?.is_empty) await giveBack(pool, name, log);
  }
}

async function giveBack(pool: Pool, name: string, log: Logger): Promise<void> {
  await pool.query(`VACUUM (TRUNCATE, INDEX_CLEANUP ON) ${name}`);
  try {
    const isDone = await inTransaction(pool, async (client) => {
      await client.query(`SET LOCAL lock_timeout = '500ms'; LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`);
      const { rows } = await client.query<{ pages: string }>(
        'SELECT pg_relation_size($1::regclass) AS pages',
        [name],
      );
      if (Number(rows[0]?.pages) > 0) return false;
      await client.query(`TRUNCATE ${name}`);
      return true;
    });
    if (isDone) log.info({ partition: name }, 'gave back the space of payloads that are sealed');
  } catch (error) {
    if (!IN_USE.has(sqlState(error) ?? '')) throw error;
    log.info({ partition: name }, 'the partition of sealed payloads is in use; giving its space back later');
  }
}
