import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startTemporaryPostgres, type TemporaryPostgres } from '#lib/embedded-postgres';
import { folderInMemory } from './folder-in-memory.js';

/** Prepares a database that others are copied from, for example by migrations. */
export type Prepare = (uri: string) => Promise<void>;

/** Templates that a server keeps; each is some 10 MB of memory. */
const MAX_TEMPLATES = 12;

/** Statements that put back what a fresh server has. */
const DEFAULTS = [
  'ALTER SYSTEM RESET ALL',
  'SELECT pg_reload_conf()',
  'ALTER DATABASE postgres RESET ALL',
  'GRANT CONNECT, TEMPORARY ON DATABASE postgres TO PUBLIC',
  'GRANT CONNECT ON DATABASE template1 TO PUBLIC',
  'DROP SCHEMA public CASCADE',
  'CREATE SCHEMA public AUTHORIZATION pg_database_owner',
  'GRANT USAGE ON SCHEMA public TO PUBLIC',
] as const;

/** A Postgres of tests that makes databases and can be put back to how it was at its start. */
export class PostgresServer {
  readonly #server: TemporaryPostgres;
  readonly #templates = new Map<Prepare, Promise<string>>();

  private constructor(server: TemporaryPostgres) {
    this.#server = server;
  }

  /** @param environment variables of the server, beside those that it needs */
  static async start(environment?: Readonly<Record<string, string>>): Promise<PostgresServer> {
    return new PostgresServer(await startTemporaryPostgres(environment, folderInMemory()));
  }

  /** URI of the superuser for a database; without a name for its own. */
  uri(database?: string): string {
    return this.#server.uri(database);
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** Makes an empty database, or a copy of what `prepare` made once; answers its name. */
  async createDatabase(prepare?: Prepare): Promise<string> {
    const from = prepare ? await this.#template(prepare) : 'template0';
    const name = `test_${randomBytes(6).toString('hex')}`;
    await this.#administer(`CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY file_copy`);
    return name;
  }

  async dropDatabase(name: string): Promise<void> {
    await this.#administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }

  /** True when it answers; a test may have ended it. */
  async isUp(): Promise<boolean> {
    try {
      await this.#administer('SELECT 1');
      return true;
    } catch {
      return false;
    }
  }

  /** Ends all sessions and removes everything that was made since the start, except templates. */
  async reset(): Promise<void> {
    await this.#trimTemplates();
    const templates = await Promise.all(this.#templates.values());
    await this.#connected(async (client) => {
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`,
      );
      const { rows: databases } = await client.query<{ name: string }>(
        `SELECT quote_ident(datname) AS name FROM pg_database
         WHERE datname <> ALL ($1) AND datname NOT IN ('postgres', 'template0', 'template1')`,
        [templates],
      );
      for (const { name } of databases) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      const { rows: roles } = await client.query<{ name: string }>(
        `SELECT quote_ident(rolname) AS name FROM pg_roles
         WHERE oid >= 16384 AND rolname <> current_user AND rolname NOT LIKE 'pg\\_%'`,
      );
      for (const { name } of roles) await client.query(`DROP OWNED BY ${name}`);
      for (const { name } of roles) await client.query(`DROP ROLE ${name}`);
      for (const statement of DEFAULTS) await client.query(statement);
    });
  }

  async #template(prepare: Prepare): Promise<string> {
    const made = this.#templates.get(prepare) ?? this.#prepare(prepare);
    // the latest used comes last
    this.#templates.delete(prepare);
    this.#templates.set(prepare, made);
    return await made;
  }

  async #prepare(prepare: Prepare): Promise<string> {
    const name = `template_${randomBytes(4).toString('hex')}`;
    await this.#administer(`CREATE DATABASE ${name} STRATEGY file_copy`);
    await prepare(this.uri(name));
    return name;
  }

  async #trimTemplates(): Promise<void> {
    for (const prepare of [...this.#templates.keys()].slice(0, -MAX_TEMPLATES))
      this.#templates.delete(prepare);
    for (const [prepare, made] of this.#templates) await made.catch(() => this.#templates.delete(prepare));
  }

  #administer(statement: string): Promise<void> {
    return this.#connected(async (client) => void (await client.query(statement)));
  }

  async #connected<T>(step: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.uri() });
    await client.connect();
    try {
      return await step(client);
    } finally {
      await client.end();
    }
  }
}
