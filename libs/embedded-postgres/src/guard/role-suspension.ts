import { parseRoleNote, renderRoleNote } from '#lib/deployment-database';
import type { OwnConnection } from '#lib/postgres';

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
  await admit(connection, name, false);
}

/** Lets a suspended role in again. */
export async function restoreRole(connection: OwnConnection, name: string): Promise<void> {
  await admit(connection, name, true);
}

/**
 * The role's note records it in the same transaction: a start finds the suspensions that a crash left behind.
 */
async function admit(connection: OwnConnection, name: string, mayLogIn: boolean): Promise<void> {
  const { rows } = await connection.query<{ rolconnlimit: number; comment: string | null }>(
    `SELECT rolconnlimit, shobj_description(oid, 'pg_authid') AS comment FROM pg_authid WHERE rolname = $1`,
    [name],
  );
  const [role] = rows;
  if (!role) return;
  const note = parseRoleNote(role.comment) ?? { connections: role.rolconnlimit };
  const comment = connection.escapeLiteral(renderRoleNote({ ...note, isSuspended: !mayLogIn }));
  const quoted = connection.escapeIdentifier(name);
  // one message is one transaction
  await connection.query(
    `ALTER ROLE ${quoted} ${mayLogIn ? 'LOGIN' : 'NOLOGIN'}; COMMENT ON ROLE ${quoted} IS ${comment}`,
  );
}

/** Names of the roles that are suspended, by object id. */
export async function listSuspended(connection: OwnConnection): Promise<ReadonlyMap<string, string>> {
  const { rows } = await connection.query<{ oid: string; rolname: string; comment: string | null }>(
    `SELECT oid::text, rolname, shobj_description(oid, 'pg_authid') AS comment FROM pg_authid
    WHERE NOT rolcanlogin`,
  );
  const suspended = rows.filter(({ comment }) => parseRoleNote(comment)?.isSuspended);
  return new Map(suspended.map(({ oid, rolname }) => [oid, rolname]));
}
