import { parseRoleNote, renderRoleNote, type RoleNote } from '#lib/deployment-database';
import type { OwnConnection } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { endBackends } from './lock-holders.js';
import { type GuestRole, type GuestSession, shareConnections, type Shares } from './share-connections.js';

/**
 * Sessions that logged in. Sessions before login belong to no role; another part of the guard limits them.
 */
const LOOK = `SELECT pid, usesysid::text AS role FROM pg_stat_get_activity(NULL)
  WHERE usesysid IS NOT NULL AND backend_type = 'client backend'
  ORDER BY state IS DISTINCT FROM 'idle', state = 'active', state_change`;

/** Every session that logged in, the most idle first. Reads no relation. */
async function listSessions(connection: OwnConnection): Promise<readonly GuestSession[]> {
  // a transaction sees the sessions of its first look again and again
  await connection.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await connection.query<GuestSession>({ name: 'sessions', text: LOOK });
  return rows;
}

/** A role, and the note in its comment. */
interface NotedRole extends GuestRole {
  readonly name: string;
  /** Undefined when the comment is not the platform's. */
  readonly note: RoleNote | undefined;
}

/**
 * Roles that may log in, except those of the platform. A role without a note counts as a workspace of its
 * own.
 */
async function listGuestRoles(
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
async function readRoom(connection: OwnConnection): Promise<number> {
  const { rows } = await connection.query<{ room: number }>(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - current_setting('reserved_connections')::int AS room`,
  );
  return rows[0]?.room ?? 0;
}

/** Connections that are left to a workspace which holds none, while there is more than one: three pods of an agent. */
const RESERVE = 30;
/** Time for which a lowered limit stays: a program that takes all it gets fills it again at once. */
const LOWERED_MS = 60_000;
const LOG_MS = 60_000;

export interface ConnectionSharesOptions {
  /** Runs work in a session that is in no transaction. @returns whether it was done */
  readonly change: (work: (connection: OwnConnection) => Promise<void>) => Promise<boolean>;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * Keeps connections for a workspace that holds none. A role has a limit, but a workspace has many roles: if
 * all its deployments use their limits, nothing is left for others. While less than the reserve is free, the
 * most idle sessions of the workspace that holds most are ended, and its roles are limited to their current
 * number until others hold less.
 */
export class ConnectionShares {
  /** True when a role may have a lowered limit; a former guard may have left some. */
  #isLowered = true;
  #cutMs = -Infinity;
  #loggedMs = -Infinity;

  constructor(private readonly options: ConnectionSharesOptions) {}

  /** @param hosts object ids of roles that may hold what they need */
  async look(connection: OwnConnection, hosts: readonly string[]): Promise<void> {
    const nowMs = this.options.clock.monotonicMs();
    const all = await listSessions(connection);
    const free = (await readRoom(connection)) - all.length;
    if (free >= RESERVE && !this.#isLowered) return;
    const sessions = all.filter(({ role }) => !hosts.includes(role));
    const roles = await listGuestRoles(connection, hosts);
    const mayRestore = nowMs - this.#cutMs >= LOWERED_MS;
    const shares = shareConnections({ sessions, roles, free, reserve: RESERVE, mayRestore });
    // limits first: an ended session comes back at once
    if (!(await this.#limit(roles, shares))) return;
    if (shares.ended.length === 0) return;
    this.#cutMs = nowMs;
    await endBackends(
      connection,
      shares.ended.map(({ pid }) => pid),
    );
    this.#report(roles, shares, nowMs);
  }

  async #limit(roles: readonly NotedRole[], { limits }: Shares): Promise<boolean> {
    const changed = roles.filter(({ id }) => limits.has(id));
    const isDone =
      changed.length === 0 ||
      (await this.options.change(async (own) => {
        for (const role of changed) await limitRole(own, role, limits.get(role.id) ?? role.limit);
      }));
    if (isDone)
      this.#isLowered = roles.some(({ id, limit, connections }) => (limits.get(id) ?? limit) !== connections);
    return isDone;
  }

  #report(roles: readonly NotedRole[], { ended }: Shares, nowMs: number): void {
    if (nowMs - this.#loggedMs < LOG_MS) return;
    this.#loggedMs = nowMs;
    const named = roles.filter(({ id }) => ended.some(({ role }) => role === id));
    this.options.log.warn(
      { roles: named.map(({ name }) => name), connections: ended.length, reserve: RESERVE },
      'ended idle connections of a workspace: its agents hold so many that fewer than the reserve are left for others; lower db_max_connections of the deployments whose ids follow agent_ in the roles',
    );
  }
}

/** Limits a role. Its comment keeps the limit that it gets back afterwards. */
async function limitRole(connection: OwnConnection, role: NotedRole, limit: number): Promise<void> {
  const name = connection.escapeIdentifier(role.name);
  const note = renderRoleNote({ isSuspended: false, connections: role.connections });
  const comment = role.note ? '' : `; COMMENT ON ROLE ${name} IS ${connection.escapeLiteral(note)}`;
  // one message is one transaction
  await connection.query(`ALTER ROLE ${name} CONNECTION LIMIT ${limit}${comment}`);
}
