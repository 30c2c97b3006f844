import { openConnection, type OwnConnection } from '#lib/postgres';

/** A database with the one role that owns it. */
export interface DatabaseRequest {
  readonly database: string;
  readonly role: string;
  /** Left out: made once and kept in the data folder's `secrets/postgres.json`. */
  readonly password?: string;
  /** Maximum number of connections of the role; no limit when left out. */
  readonly connectionLimit?: number;
  /** True when the role may take the connections that are kept for the platform; false when left out. */
  readonly isPlatform?: boolean;
}

/** A role of the platform that may create databases and roles, but is no superuser. */
export interface AdministratorRequest {
  readonly role: string;
  readonly password: string;
  readonly connectionLimit?: number;
}

/**
 * Creates missing objects and brings password and limit up to date. Only the role (and superusers) can
 * connect to it.
 */
export async function ensureDatabase(uri: string, request: Required<DatabaseRequest>): Promise<void> {
  await withClient(uri, async (client) => {
    await ensureRole(client, request, 'NOCREATEDB NOCREATEROLE');
    if (request.isPlatform) await letUseReserved(client, request.role);
    const database = client.escapeIdentifier(request.database);
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [request.database]);
    if (found.rowCount === 0) {
      await client.query(`CREATE DATABASE ${database} OWNER ${client.escapeIdentifier(request.role)}`);
      await client.query(`REVOKE CONNECT, TEMPORARY ON DATABASE ${database} FROM PUBLIC`);
    }
  });
}

/** Creates or updates a role for the controller, which makes a database and a role for each deployment. */
export async function ensureAdministrator(
  uri: string,
  request: Required<AdministratorRequest>,
): Promise<void> {
  await withClient(uri, async (client) => {
    await ensureRole(client, request, 'CREATEDB CREATEROLE');
    await letUseReserved(client, request.role);
    // Databases that belong to no deployment are closed to the roles of deployments, as theirs are to one another.
    await client.query('REVOKE CONNECT, TEMPORARY ON DATABASE postgres, template1 FROM PUBLIC');
    await client.query(`GRANT CONNECT ON DATABASE postgres TO ${client.escapeIdentifier(request.role)}`);
    // Without this a role that it has created could not be given a database by it.
    await client.query(
      `ALTER ROLE ${client.escapeIdentifier(request.role)} SET createrole_self_grant = 'set, inherit'`,
    );
  });
}

async function ensureRole(
  client: OwnConnection,
  request: { role: string; password: string; connectionLimit: number },
  rights: string,
): Promise<void> {
  const role = client.escapeIdentifier(request.role);
  const found = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [request.role]);
  const verb = found.rowCount === 0 ? 'CREATE' : 'ALTER';
  const password = client.escapeLiteral(request.password);
  await client.query(
    `${verb} ROLE ${role} LOGIN NOSUPERUSER ${rights} CONNECTION LIMIT ${Math.trunc(request.connectionLimit)} PASSWORD ${password}`,
  );
}

async function letUseReserved(client: OwnConnection, role: string): Promise<void> {
  await client.query(`GRANT pg_use_reserved_connections TO ${client.escapeIdentifier(role)}`);
}

async function withClient<T>(uri: string, use: (client: OwnConnection) => Promise<T>): Promise<T> {
  const client = await openConnection({ uri, applicationName: 'agentplane-setup' });
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
