import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import type { Connection, Pool } from './open-pool.js';
import { sqlState } from './postgres-trouble.js';

interface NumberedStep {
  /** Steps are applied in the order of the list; the number is recorded. */
  readonly version: number;
  readonly name: string;
}

/** A step that is applied whole or not at all. */
interface TransactionalStep extends NumberedStep {
  readonly transaction?: true;
  /** One or more statements. */
  readonly sql: string;
}

/**
 * A step outside of a transaction, for CREATE INDEX CONCURRENTLY and its kin. A kill may fall between two statements or
 * before the step is recorded; then all of them are performed again, so each must be repeatable. An index that was
 * left invalid would satisfy IF NOT EXISTS: begin with DROP INDEX CONCURRENTLY IF EXISTS.
 */
interface BareStep extends NumberedStep {
  readonly transaction: false;
  /** One statement each. */
  readonly statements: readonly string[];
}

/**
 * A step in code: tables of another package, batches, an index of a partitioned table. A kill may fall before it is
 * recorded, so it must be repeatable.
 */
interface PerformedStep extends NumberedStep {
  readonly transaction: false;
  /** @param connection outside of a transaction; it holds the lock */
  readonly perform: (connection: Connection) => Promise<void>;
}

/** One numbered step of a schema. Once a release has it, it is never edited: a change is a new number. */
export type Migration = TransactionalStep | BareStep | PerformedStep;

export interface MigrateOptions {
  /** Migrations in the order of their versions. */
  readonly migrations: readonly Migration[];
  /** Any number that nothing else in this database locks; all programs that migrate this schema use the same. */
  readonly lock: number;
  /** Made when it is missing; default `public`. */
  readonly schema?: string;
  /** Table of the applied versions; default `schema_migrations`. */
  readonly table?: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Performed under the lock before the first migration that is missing: for tables that another package makes. */
  readonly prepare?: () => Promise<void>;
}

const LOCK_NOT_AVAILABLE = '55P03';
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';
const LONGEST_LOCK_WAIT = '2s';
const LOCK_PAUSES = { firstMs: 20, longestMs: 500 };

/**
 * Applies the migrations that are missing, one at a time. Any number of processes may do so at once: they are
 * serialised and the later ones find nothing to do. A process killed in the middle leaves whole migrations
 * behind; the next one continues with the first that is not recorded. A schema newer than this program is
 * left alone: during a rolling update old and new run side by side.
 *
 * The lock is an advisory lock of the session, so a broken connection releases it. It is polled rather than
 * waited for: a statement that waits holds a snapshot, and CREATE INDEX CONCURRENTLY of the process that has
 * the lock would wait for that snapshot, a deadlock.
 */
export async function migrate(pool: Pool, options: MigrateOptions): Promise<void> {
  const connection = await pool.connect();
  try {
    if (await isCurrent(connection, options)) return connection.release();
    await takeTurn(connection, options);
    await performMigrations(connection, options);
    await connection.query('SELECT pg_advisory_unlock($1)', [options.lock]);
    connection.release();
  } catch (error) {
    connection.release(true); // the end of the session gives the lock back
    throw error;
  }
}

/** One question instead of ten statements: most starts find nothing to do. */
async function isCurrent(connection: Connection, options: MigrateOptions): Promise<boolean> {
  try {
    const { rows } = await connection.query<{ version: number }>(
      `SELECT version FROM ${tableOf(connection, options)}`,
    );
    const applied = new Set(rows.map(({ version }) => version));
    return options.migrations.every(({ version }) => applied.has(version));
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE || sqlState(error) === UNDEFINED_SCHEMA) return false;
    throw error;
  }
}

function tableOf(
  connection: Connection,
  { schema = 'public', table = 'schema_migrations' }: MigrateOptions,
): string {
  return `${connection.escapeIdentifier(schema)}.${connection.escapeIdentifier(table)}`;
}

async function takeTurn(connection: Connection, { lock, clock }: MigrateOptions): Promise<void> {
  const backoff = new Backoff(clock, LOCK_PAUSES);
  for (;;) {
    const { rows } = await connection.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      lock,
    ]);
    if (rows[0]?.taken) return;
    await backoff.pause();
  }
}

async function performMigrations(connection: Connection, options: MigrateOptions): Promise<void> {
  const { schema = 'public', migrations, log } = options;
  const place = tableOf(connection, options);
  // not IF NOT EXISTS alone: that needs the right to create even if the schema exists
  const found = await connection.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  if (found.rowCount === 0) await connection.query(`CREATE SCHEMA ${connection.escapeIdentifier(schema)}`);
  await connection.query(`CREATE TABLE IF NOT EXISTS ${place} (
    version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  const { rows } = await connection.query<{ version: number }>(`SELECT version FROM ${place}`);
  const applied = new Set(rows.map(({ version }) => version));
  await options.prepare?.();
  for (const migration of migrations) {
    if (applied.has(migration.version)) continue;
    await applyPatiently(connection, migration, place, options);
    log.debug({ version: migration.version, migration: migration.name }, 'schema migrated');
  }
}

async function applyMigration(connection: Connection, migration: Migration, place: string): Promise<void> {
  const record = (): Promise<unknown> =>
    connection.query(`INSERT INTO ${place} (version, name) VALUES ($1, $2)`, [
      migration.version,
      migration.name,
    ]);
  if (migration.transaction === false) {
    if ('perform' in migration) await migration.perform(connection);
    else for (const statement of migration.statements) await connection.query(statement);
    await record();
    return;
  }
  await connection.query(`BEGIN; SET LOCAL lock_timeout = '${LONGEST_LOCK_WAIT}'`);
  await connection.query(migration.sql);
  await record();
  await connection.query('COMMIT');
}

/**
 * Applies a step with short lock waits: all later statements on the table wait behind a step that waits for a
 * lock, and an export may hold one for minutes. So a step waits for seconds, lets the others continue, and is
 * tried again.
 */
async function applyPatiently(
  connection: Connection,
  migration: Migration,
  place: string,
  { clock, log }: MigrateOptions,
): Promise<void> {
  const backoff = new Backoff(clock, LOCK_PAUSES);
  for (;;)
    try {
      await applyMigration(connection, migration, place);
      return;
    } catch (error) {
      if (migration.transaction === false || sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      await connection.query('ROLLBACK');
      log.info(
        { version: migration.version, migration: migration.name },
        'migration waits for a table in use',
      );
      await backoff.pause();
    }
}
