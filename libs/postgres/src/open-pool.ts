import pg from 'pg';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { GuardedClient, type GuardedConfig } from './guarded-client.js';
import { KEEP_ALIVE_MS } from './keep-alive.js';
import { namedFailure, throwNamed } from './named-failure.js';
import { sqlState } from './postgres-trouble.js';
import { requiredLogin } from './require-scram.js';

type Lend = Parameters<pg.Pool['connect']>[0];

const TOO_MANY_CONNECTIONS = '53300';
/** Pauses of a pool that the server gives no further connection; its own may become free at any time. */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 400;

/**
 * A pool of guarded connections. One that cannot be opened, or is not free in time, is a NoAnswerError. While the server
 * admits no more connections of its role, those that the pool has are waited for, as if they were all that it may have.
 */
class GuardedPool extends pg.Pool {
  readonly #patienceMs: number;

  constructor(config: pg.PoolConfig & GuardedConfig) {
    requiredLogin(config.connectionString); // a wrong URI is reported here, not by each statement
    super({ ...config, Client: GuardedClient });
    this.#patienceMs = config.connectionTimeoutMillis ?? 0;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Lend): void;
  override connect(callback?: Lend): Promise<pg.PoolClient> | void {
    const deadlineMs = systemClock.monotonicMs() + this.#patienceMs;
    // the pool's own query comes this way
    if (callback) return this.#lend(callback, deadlineMs, FIRST_PAUSE_MS);
    return new Promise<pg.PoolClient>((resolve, reject) => {
      const lent: Lend = (error, client) => (client ? resolve(client) : reject(error ?? new Error('none')));
      this.#lend(lent, deadlineMs, FIRST_PAUSE_MS);
    }).catch(throwNamed);
  }

  #lend(callback: Lend, deadlineMs: number, pauseMs: number): void {
    super.connect((error, client, done) => {
      if (sqlState(error) === TOO_MANY_CONNECTIONS && systemClock.monotonicMs() + pauseMs < deadlineMs) {
        const longer = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        systemClock.after(pauseMs, () => this.#lend(callback, deadlineMs, longer));
        return;
      }
      const failure = error && namedFailure(error);
      callback(failure instanceof Error ? failure : error, client, done);
    });
  }
}

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
