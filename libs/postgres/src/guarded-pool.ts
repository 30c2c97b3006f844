import pg from 'pg';
import { systemClock } from '#lib/time';
import { GuardedClient, type GuardedConfig } from './guarded-client.js';
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
export class GuardedPool extends pg.Pool {
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
