import type { Queryable } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { TraceStore } from './trace-store.js';

/**
 * A database that is open although the platform works, and the statement by which an administrator closes it.
 */
export interface OpenDatabasesWarning {
  readonly message: string;
  readonly databases: readonly string[];
  readonly mend: string;
}

/** Databases of the platform on its server, whichever of them there are, that every role may connect to. */
export async function readOpenDatabases(pool: Queryable): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT datname AS name FROM pg_database
    WHERE datname IN (current_database(), 'postgres', 'template1') AND datallowconn
      AND has_database_privilege('public', oid, 'CONNECT')
    ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/**
 * The warning about databases that roles of agents may connect to; undefined when none exist. They read
 * nothing there, and could hold the locks by which the platform orders its work.
 */
export async function findOpenDatabases(
  store: Pick<TraceStore, 'openDatabases'>,
): Promise<OpenDatabasesWarning | undefined> {
  const databases = await store.openDatabases();
  if (databases.length === 0) return undefined;
  const names = databases.map((name) => `"${name.replaceAll('"', '""')}"`).join(', ');
  return {
    message: 'every role may connect to databases of the platform; close them',
    databases,
    mend: `REVOKE CONNECT, TEMPORARY ON DATABASE ${names} FROM PUBLIC`,
  };
}

/** Logs that warning. Only an administrator can close the databases, so nothing stops for it. */
export async function warnOfOpenDatabases(
  store: Pick<TraceStore, 'openDatabases'>,
  log: Logger,
): Promise<void> {
  const found = await findOpenDatabases(store);
  if (found) log.warn({ databases: found.databases, mend: found.mend }, found.message);
}
