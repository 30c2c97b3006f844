import type { OwnConnection } from '#lib/postgres';

/** Kept in the database, in the same transaction as the suspension itself: a start finds what a crash left behind. */
const MARK = 'suspended by the guard of Agentplane';

/** Object ids of superusers and of the roles of these names. */
export async function listHosts(
  connection: OwnConnection,
  names: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await connection.query<{ oid: string }>(
    'SELECT oid::text FROM pg_authid WHERE rolsuper OR rolname = ANY ($1)',
    [names],
  );
  return rows.map(({ oid }) => oid);
}

/** The name of a role; undefined when it was dropped. */
export async function findRoleName(connection: OwnConnection, role: string): Promise<string | undefined> {
  const { rows } = await connection.query<{ rolname: string }>(
    'SELECT rolname FROM pg_authid WHERE oid = $1::oid',
    [role],
  );
  return rows[0]?.rolname;
}

/** Lets no new connection of the role in; those that it has stay. */
export async function suspendRole(connection: OwnConnection, name: string): Promise<void> {
  const quoted = connection.escapeIdentifier(name);
  // one message is one transaction
  await connection.query(`ALTER ROLE ${quoted} NOLOGIN; COMMENT ON ROLE ${quoted} IS '${MARK}'`);
}

/** Lets a suspended role in again. */
export async function restoreRole(connection: OwnConnection, name: string): Promise<void> {
  const quoted = connection.escapeIdentifier(name);
  await connection.query(`ALTER ROLE ${quoted} LOGIN; COMMENT ON ROLE ${quoted} IS NULL`);
}

/** Names of the roles that are suspended, by object id. */
export async function listSuspended(connection: OwnConnection): Promise<ReadonlyMap<string, string>> {
  const { rows } = await connection.query<{ oid: string; rolname: string }>(
    `SELECT oid::text, rolname FROM pg_authid
    WHERE NOT rolcanlogin AND shobj_description(oid, 'pg_authid') = $1`,
    [MARK],
  );
  return new Map(rows.map(({ oid, rolname }) => [oid, rolname]));
}
