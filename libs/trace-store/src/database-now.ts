import type { Connection, Pool } from '#lib/postgres';
import type { Instant } from '#lib/time';

/** The time by the database's clock, which decides about rows, whatever the clock of this machine shows. */
export async function databaseNow(
  connection: Pick<Connection, 'query'> | Pick<Pool, 'query'>,
): Promise<Instant> {
  const { rows } = await connection.query<{ micros: string }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text AS micros`,
  );
  return BigInt(rows[0]?.micros ?? 0);
}
