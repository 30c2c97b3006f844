import { createHash, randomBytes } from 'node:crypto';
import { TerminalError } from '#lib/errors';
import { openConnection, type OwnConnection } from '#lib/postgres';
import { EVENT } from '#lib/resources';
import type { DatabaseLogin, DeploymentDatabases } from './deployment-databases.js';
import { parseRoleNote, renderRoleNote } from './role-note.js';

const MAX_NAME_BYTES = 63;
const DEFAULT_MAX_CONNECTIONS = 20;
/** Divisor for one role's share of a server's connections: a third; the rest is for others. */
const PARTS = 3;
/**
 * Limits by which a forgotten transaction or a runaway statement of one agent does not hold back a server
 * that all share.
 */
const SESSION_LIMITS = { statement_timeout: '5min', idle_in_transaction_session_timeout: '1min' } as const;
/** A database that is dropped may wait for a checkpoint of the whole server. */
const SHARED_MS = 300_000;
/** The pods of a deployment's own server are its workspace's, which may have anything answer in their place. */
const OWN_MS = 30_000;
const MOST_BYTES = 1_048_576;
/** Every role that reaches the database of the administrator can take its advisory locks, and keep them. */
const LOCK_MS = 10_000;
/** Postgres' own, and the platform's. */
const RESERVED = new Set(['postgres', 'template0', 'template1', 'kube', 'agentplane']);

function checkName(name: string): void {
  if (name === '' || Buffer.byteLength(name) > MAX_NAME_BYTES || name.includes('\0') || RESERVED.has(name))
    throw new TerminalError(
      EVENT.databaseNameInvalid,
      `naming a deployment's database ${JSON.stringify(name)} failed: the name is reserved, empty, or longer than ${MAX_NAME_BYTES} bytes`,
    );
}

async function withServer<T>(
  { adminUri, isShared }: { readonly adminUri: string; readonly isShared: boolean },
  work: (server: OwnConnection) => Promise<T>,
): Promise<T> {
  const server = await openConnection({
    uri: adminUri,
    applicationName: 'agentplane deployment databases',
    bounds: { ms: isShared ? SHARED_MS : OWN_MS, bytes: MOST_BYTES },
  });
  try {
    await server.query(`SET lock_timeout = ${LOCK_MS}`);
    return await work(server);
  } finally {
    await server.end().catch(() => undefined);
  }
}

function lockOf(name: string): string {
  return createHash('sha256').update(`deployment database ${name}`).digest().readBigInt64BE(0).toString();
}

async function hasRow(server: OwnConnection, sql: string, name: string): Promise<boolean> {
  return ((await server.query(sql, [name])).rowCount ?? 0) > 0;
}

/**
 * Number of connections that one role may have: all that are not reserved, or a part of them. Before Postgres
 * 16 only superusers have reserved ones.
 */
async function countConnections(server: OwnConnection, isShared: boolean): Promise<number> {
  const { rows } = await server.query<{ connections: number }>(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0) AS connections`,
  );
  return Math.max(1, Math.floor((rows[0]?.connections ?? 1) / (isShared ? PARTS : 1)));
}

/** The comment of the role as it has to be; undefined where it stays: a person wrote it, or it says so already. */
async function nextComment(
  server: OwnConnection,
  name: string,
  { connections, workspace }: { readonly connections: number; readonly workspace: string },
): Promise<string | undefined> {
  const { rows } = await server.query<{ comment: string | null }>(
    `SELECT shobj_description(oid, 'pg_authid') AS comment FROM pg_roles WHERE rolname = $1`,
    [name],
  );
  const comment = rows[0]?.comment ?? '';
  const note = parseRoleNote(comment);
  if (!note && comment !== '') return undefined;
  // every role reads every comment
  const group = createHash('sha256').update(workspace).digest('hex').slice(0, 16);
  const next = renderRoleNote({ connections, workspace: group, isSuspended: note?.isSuspended ?? false });
  return next === comment ? undefined : next;
}

/**
 * URI of a deployment's database: on the administrator's server, with the parameters of the administrator's
 * URI.
 */
export function databaseUri({ adminUri, name, password }: DatabaseLogin): string {
  const uri = new URL(adminUri);
  uri.username = encodeURIComponent(name);
  uri.password = encodeURIComponent(password);
  uri.pathname = `/${encodeURIComponent(name)}`;
  return uri.toString();
}

/** Makes and removes databases of deployments. */
export const deploymentDatabases: DeploymentDatabases = {
  async ensure({
    adminUri,
    isShared = true,
    name,
    workspace,
    password = randomBytes(24).toString('hex'),
    maxConnections = DEFAULT_MAX_CONNECTIONS,
  }) {
    checkName(name);
    return withServer({ adminUri, isShared }, async (server) => {
      const quoted = server.escapeIdentifier(name);
      // CREATE DATABASE runs in no transaction, so the lock is the session's
      await server.query(`SELECT pg_advisory_lock(${lockOf(name)})`);
      const hasRole = await hasRow(server, 'SELECT FROM pg_roles WHERE rolname = $1', name);
      const connections = Math.min(Math.trunc(maxConnections), await countConnections(server, isShared));
      // a new role has no rights of its own; NOSUPERUSER on an existing one may be written by superusers only. One that
      // may not log in was suspended, by the guard of the embedded server or by a person
      await server.query(
        `${hasRole ? 'ALTER ROLE' : 'CREATE ROLE'} ${quoted} ${hasRole ? '' : 'LOGIN'} CONNECTION LIMIT ${connections}
        PASSWORD ${server.escapeLiteral(password)}`,
      );
      const comment = await nextComment(server, name, { connections, workspace });
      if (comment !== undefined)
        await server.query(`COMMENT ON ROLE ${quoted} IS ${server.escapeLiteral(comment)}`);
      for (const [setting, value] of Object.entries(SESSION_LIMITS))
        await server.query(`ALTER ROLE ${quoted} SET ${setting} = '${value}'`);
      if (!(await hasRow(server, 'SELECT FROM pg_database WHERE datname = $1', name))) {
        // an admin that is no superuser may give a database only to a role it belongs to
        await server.query(`GRANT ${quoted} TO CURRENT_USER`);
        // template1 cannot be copied while any role is connected to it, and every role may be; template0
        // takes no connection
        await server.query(`CREATE DATABASE ${quoted} OWNER ${quoted} TEMPLATE template0`);
      }
      // its owner can shut itself out
      await server.query(`ALTER DATABASE ${quoted} WITH ALLOW_CONNECTIONS true CONNECTION LIMIT -1`);
      await server.query(`GRANT CONNECT, TEMPORARY ON DATABASE ${quoted} TO ${quoted}`);
      const closed = isShared ? [quoted] : [quoted, 'postgres', 'template1'];
      await server.query(`REVOKE CONNECT, TEMPORARY ON DATABASE ${closed.join(', ')} FROM PUBLIC`);
      return { uri: databaseUri({ adminUri, name, password }), connections };
    });
  },

  async drop({ adminUri, name }) {
    checkName(name);
    await withServer({ adminUri, isShared: true }, async (server) => {
      const quoted = server.escapeIdentifier(name);
      await server.query(`SELECT pg_advisory_lock(${lockOf(name)})`);
      await server.query(`DROP DATABASE IF EXISTS ${quoted} WITH (FORCE)`);
      await server.query(`DROP ROLE IF EXISTS ${quoted}`);
    });
  },
};
