import { parseRoleNote, type RoleNote } from '#lib/deployment-database';
import type { OwnConnection } from '#lib/postgres';
import type { GuestRole, GuestSession } from './share-connections.js';

/**
 * Sessions that logged in. Sessions before login belong to no role; another part of the guard limits them.
 */
const LOOK = `SELECT pid, usesysid::text AS role FROM pg_stat_get_activity(NULL)
  WHERE usesysid IS NOT NULL AND backend_type = 'client backend'
  ORDER BY state IS DISTINCT FROM 'idle', state = 'active', state_change`;

/** Every session that logged in, the most idle first. Reads no relation. */
export async function listSessions(connection: OwnConnection): Promise<readonly GuestSession[]> {
  // a transaction sees the sessions of its first look again and again
  await connection.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await connection.query<GuestSession>({ name: 'sessions', text: LOOK });
  return rows;
}

/** A role, and the note in its comment. */
export interface NotedRole extends GuestRole {
  readonly name: string;
  /** Undefined when the comment is not the platform's. */
  readonly note: RoleNote | undefined;
}

/**
 * Roles that may log in, except those of the platform. A role without a note counts as a workspace of its
 * own.
 */
export async function listGuestRoles(
  connection: OwnConnection,
  hosts: readonly string[],
): Promise<readonly NotedRole[]> {
  const { rows } = await connection.query<{
    oid: string;
    rolname: string;
    rolconnlimit: number;
    comment: string | null;
  }>(
    `SELECT oid::text, rolname, rolconnlimit, shobj_description(oid, 'pg_authid') AS comment
    FROM pg_authid WHERE oid >= 16384 AND NOT oid::text = ANY ($1) ORDER BY oid`,
    [hosts],
  );
  return rows.map(({ oid: id, rolname: name, rolconnlimit: limit, comment }) => {
    const note = parseRoleNote(comment);
    const workspace = note?.workspace ?? `of ${id}`;
    return { id, name, limit, note, workspace, connections: note?.connections ?? limit };
  });
}

/** Connections that the server has for tenant and platform roles together. */
export async function readRoom(connection: OwnConnection): Promise<number> {
  const { rows } = await connection.query<{ room: number }>(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - current_setting('reserved_connections')::int AS room`,
  );
  return rows[0]?.room ?? 0;
}
