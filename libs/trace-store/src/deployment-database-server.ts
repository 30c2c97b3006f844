import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import { TerminalError } from '#lib/errors';
import type { DeploymentDatabases } from './deployment-databases.js';

const MAX_NAME_BYTES = 63;
const DEFAULT_MAX_CONNECTIONS = 20;
/** Postgres' own, and the platform's. */
const RESERVED = new Set(['postgres', 'template0', 'template1', 'kube', 'agentplane']);

function checkName(name: string): void {
  if (name === '' || Buffer.byteLength(name) > MAX_NAME_BYTES || name.includes('\0') || RESERVED.has(name))
    throw new TerminalError(
      'DatabaseNameInvalid',
      `${JSON.stringify(name)} cannot be the name of a deployment's database`,
    );
}

async function withServer<T>(adminUri: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: adminUri, connectionTimeoutMillis: 10_000 });
  // a connection that breaks between queries is reported by the next query
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function lockOf(name: string): string {
  return createHash('sha256').update(`deployment database ${name}`).digest().readBigInt64BE(0).toString();
}

async function isThere(client: pg.Client, sql: string, name: string): Promise<boolean> {
  return ((await client.query(sql, [name])).rowCount ?? 0) > 0;
}

/** Makes and removes databases of deployments. */
export const deploymentDatabases: DeploymentDatabases = {
  async ensure({
    adminUri,
    name,
    password = randomBytes(24).toString('hex'),
    maxConnections = DEFAULT_MAX_CONNECTIONS,
  }) {
    checkName(name);
    const quoted = pg.escapeIdentifier(name);
    return withServer(adminUri, async (client) => {
      // CREATE DATABASE runs in no transaction, so the lock is the session's
      await client.query(`SELECT pg_advisory_lock(${lockOf(name)})`);
      const hasRole = await isThere(client, 'SELECT FROM pg_roles WHERE rolname = $1', name);
      // a new role has no rights of its own, and only a superuser may as much as mention NOSUPERUSER of an old one
      await client.query(
        `${hasRole ? 'ALTER' : 'CREATE'} ROLE ${quoted} LOGIN CONNECTION LIMIT ${Math.trunc(maxConnections)}
        PASSWORD ${pg.escapeLiteral(password)}`,
      );
      if (!(await isThere(client, 'SELECT FROM pg_database WHERE datname = $1', name))) {
        // an admin that is no superuser may give a database only to a role it belongs to
        await client.query(`GRANT ${quoted} TO CURRENT_USER`);
        await client.query(`CREATE DATABASE ${quoted} OWNER ${quoted}`);
      }
      await client.query(`REVOKE CONNECT, TEMPORARY ON DATABASE ${quoted} FROM PUBLIC`);
      const uri = new URL(adminUri);
      uri.username = encodeURIComponent(name);
      uri.password = encodeURIComponent(password);
      uri.pathname = `/${encodeURIComponent(name)}`;
      return { uri: uri.toString() };
    });
  },

  async drop({ adminUri, name }) {
    checkName(name);
    const quoted = pg.escapeIdentifier(name);
    await withServer(adminUri, async (client) => {
      await client.query(`SELECT pg_advisory_lock(${lockOf(name)})`);
      await client.query(`DROP DATABASE IF EXISTS ${quoted} WITH (FORCE)`);
      await client.query(`DROP ROLE IF EXISTS ${quoted}`);
    });
  },
};
