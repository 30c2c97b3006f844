import type pg from 'pg';
import type { Logger } from '#lib/telemetry';
import { GuardedPool } from './guarded-pool.js';
import { KEEP_ALIVE_MS } from './keep-alive.js';

export interface PoolOptions {
  /** `postgres://…`. Secret. */
  readonly uri: string;
  /** Name that `pg_stat_activity` shows. */
  readonly applicationName: string;
  readonly log: Logger;
  /** Maximum number of connections; default 8. They are opened on demand. */
  readonly maxConnections?: number;
  /** Milliseconds that an unused connection is kept; default 30 s, 0 for always. */
  readonly idleTimeoutMs?: number;
  /** Milliseconds to wait for a connection; default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds until the server is asked whether it still knows the session of a silent statement; default 10 s. */
  readonly silentMs?: number;
  /** Settings of every session, such as `timezone`. Values without spaces. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Conversion of values to those of JavaScript; the driver's own by default. */
  readonly types?: pg.CustomTypesConfig;
}

/** A pool of connections, each opened on demand. See `postgresTrouble` for the meaning of its failures. */
export type Pool = pg.Pool;

/** A connection that a pool has lent out. */
export type Connection = pg.PoolClient;

/** The part of a pool or a connection that a single statement needs. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** Opens a pool; connects on the first statement. */
export function openPool(options: PoolOptions): Pool {
  const { settings = {} } = options;
  const pool = new GuardedPool({
    connectionString: options.uri,
    application_name: options.applicationName,
    max: options.maxConnections ?? 8,
    idleTimeoutMillis: options.idleTimeoutMs ?? 30_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...(options.silentMs === undefined ? {} : { silentMs: options.silentMs }),
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    ...(options.types ? { types: options.types } : {}),
  });
  pool.on('error', (error) => options.log.warn({ err: error }, 'idle database connection broke'));
  return pool;
}
