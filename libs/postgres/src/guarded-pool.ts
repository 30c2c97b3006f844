import pg from 'pg';
import { GuardedClient, type GuardedConfig } from './guarded-client.js';
import { namedFailure, throwNamed } from './named-failure.js';
import { requiredLogin } from './require-scram.js';

type Lend = Parameters<pg.Pool['connect']>[0];

/** A pool of guarded connections. One that cannot be opened, or is not free in time, is a NoAnswerError. */
export class GuardedPool extends pg.Pool {
  constructor(config: pg.PoolConfig & GuardedConfig) {
    requiredLogin(config.connectionString); // a wrong URI is reported here, not by each statement
    super({ ...config, Client: GuardedClient });
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Lend): void;
  override connect(callback?: Lend): Promise<pg.PoolClient> | void {
    if (!callback) return super.connect().catch(throwNamed);
    // the pool's own query comes this way
    super.connect((error, client, done) => {
      const failure = error && namedFailure(error);
      callback(failure instanceof Error ? failure : error, client, done);
    });
  }
}
