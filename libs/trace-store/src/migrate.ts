import type pg from 'pg';
import type { Logger } from '#lib/telemetry';
import { inTransaction } from './transaction.js';
import { firstSchema } from './migrations/0001-first-schema.js';
import type { Migration } from './migrations/migration.js';

/** In order; numbers without gaps. */
export const MIGRATIONS: readonly Migration[] = [firstSchema];

/** Any number that nothing else in this database locks. */
const LOCK = 7_214_001;

/**
 * Applies the migrations that are missing. Whoever comes second waits for the lock and finds nothing to do. A schema
 * newer than this program is left alone: during a rolling update old and new run side by side.
 */
export async function migrate(
  pool: pg.Pool,
  log: Logger,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    const applied = await client.query<{ version: number }>('SELECT version FROM schema_migrations');
    const versions = new Set(applied.rows.map((row) => row.version));
    for (const { version, name, sql } of migrations) {
      if (versions.has(version)) continue;
      await client.query(sql);
      await client.query('INSERT INTO schema_migrations (version, name) VALUES ($1, $2)', [version, name]);
      log.info({ version, migration: name }, 'schema migrated');
    }
  });
}
