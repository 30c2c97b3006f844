import { boundedDocuments, migrate, openPool, type Pool, REQUEST_ANSWER_MS } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { MIGRATIONS } from './schema/migrations.js';
import { CHECKPOINTER_TABLES, SCHEMA } from './schema/later-tables.js';
import { Sql } from './sql.js';

/** Any constant: only servers of one deployment share a database. */
const MIGRATION_LOCK = 4_172_001;

/** Milliseconds that an unused connection is kept. */
const IDLE_MS = 60_000;

export interface DatabaseOptions {
  /** `postgres://…`. Secret. */
  readonly uri: string;
  readonly poolSize: number;
  /**
   * Length above which documents are selected as text; undefined in graph hosts, which parse what they read.
   */
  readonly maxParsedChars?: number;
  /** True in servers: requests wait for it, which are not to hang with the database. */
  readonly servesRequests?: boolean;
  /** Milliseconds of a caller's search; 5 s by default. */
  readonly scanLimitMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The deployment's own database. Renewals of leases have a separate connection, so that a pool full of slow
 * queries never looks like a dead server.
 */
export class Database {
  readonly sql: Sql;
  readonly renewals: Sql;
  readonly #options: DatabaseOptions;
  readonly #pool: Pool;
  readonly #renewalPool: Pool;

  constructor(options: DatabaseOptions) {
    const { uri, poolSize, maxParsedChars, scanLimitMs, servesRequests, log } = options;
    const types = maxParsedChars === undefined ? {} : { types: boundedDocuments(maxParsedChars) };
    const common = { uri, log, applicationName: 'agent-server', ...types };
    this.#options = options;
    const answerMs = servesRequests ? REQUEST_ANSWER_MS : undefined;
    this.#pool = openPool({ ...common, maxConnections: poolSize, idleTimeoutMs: IDLE_MS, answerMs });
    this.#renewalPool = openPool({ ...common, maxConnections: 1, idleTimeoutMs: 0 });
    this.sql = new Sql(this.#pool, scanLimitMs === undefined ? {} : { scanLimitMs });
    this.renewals = new Sql(this.#renewalPool);
  }

  /** Brings the schema up to date; servers that start at once do so one after another. */
  async migrate(): Promise<void> {
    const { clock, log } = this.#options;
    await migrate(this.#pool, {
      migrations: MIGRATIONS,
      lock: MIGRATION_LOCK,
      schema: SCHEMA,
      table: 'migrations',
      // the checkpointer's tables come first: some migrations add to them
      prepare: async () => void (await this.#pool.query(CHECKPOINTER_TABLES)),
      clock,
      log,
    });
  }

  /** Rejects while the database answers nothing. */
  async ask(): Promise<void> {
    await this.#pool.query('select 1');
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), this.#renewalPool.end()]);
  }
}
