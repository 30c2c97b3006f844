import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import pg from 'pg';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { withNamedFailures } from './database-trouble.js';
import { MIGRATIONS, SCHEMA } from './migrations.js';

/** Any constant: only servers of one deployment share a database. */
const MIGRATION_LOCK = 4_172_001;

/** Milliseconds that an unused connection is kept. */
const IDLE_MS = 60_000;

/** Milliseconds to wait for a connection before a request fails. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * The deployment's own database. Renewals of leases have a connection of their own, so that a pool full of slow
 * queries never looks like a dead server.
 */
export class Database {
  readonly pool: pg.Pool;
  readonly renewals: pg.Pool;

  constructor(
    readonly uri: string,
    poolSize: number,
    log: Logger,
  ) {
    const options = {
      connectionString: uri,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      application_name: 'agent-server',
    };
    this.pool = withNamedFailures(new pg.Pool({ ...options, max: poolSize, idleTimeoutMillis: IDLE_MS }));
    this.renewals = withNamedFailures(new pg.Pool({ ...options, max: 1, idleTimeoutMillis: 0 }));
    for (const pool of [this.pool, this.renewals]) {
      pool.on('error', (error) => log.warn({ error: errorText(error) }, 'an idle database connection broke'));
      // one that breaks while it is in use fails its query; without a listener it would end the process, too
      pool.on('connect', (client) => client.on('error', () => undefined));
    }
  }

  /** Brings the schema up to date; servers that start at once take turns. */
  async migrate(): Promise<void> {
    const client = await this.pool.connect();
    try {
      await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
      await client.query(
        `CREATE TABLE IF NOT EXISTS ${SCHEMA}.migrations (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
      );
      const { rows } = await client.query<{ version: number }>(
        `SELECT COALESCE(max(version), 0) AS version FROM ${SCHEMA}.migrations`,
      );
      // its tables come first: some migrations add to them
      await new PostgresSaver(this.pool, undefined, { schema: SCHEMA }).setup();
      for (let version = (rows[0]?.version ?? 0) + 1; version <= MIGRATIONS.length; version++)
        await this.#apply(client, version);
      await client.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
      client.release();
    } catch (error) {
      client.release(true); // a broken session gives its lock back
      throw error;
    }
  }

  async #apply(client: pg.PoolClient, version: number): Promise<void> {
    await client.query('BEGIN');
    await client.query(MIGRATIONS[version - 1] ?? '');
    await client.query(`INSERT INTO ${SCHEMA}.migrations (version) VALUES ($1)`, [version]);
    await client.query('COMMIT');
  }

  async close(): Promise<void> {
    await Promise.all([this.pool.end(), this.renewals.end()]);
  }
}
