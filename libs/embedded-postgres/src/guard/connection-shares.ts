import { renderRoleNote } from '#lib/deployment-database';
import type { OwnConnection } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { listGuestRoles, listSessions, type NotedRole, readRoom } from './guest-sessions.js';
import { endBackends } from './lock-holders.js';
import { shareConnections, type Shares } from './share-connections.js';

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
  readonly #options: ConnectionSharesOptions;
  /** True when a role may have a lowered limit; a former guard may have left some. */
  #isLowered = true;
  #cutMs = -Infinity;
  #loggedMs = -Infinity;

  constructor(options: ConnectionSharesOptions) {
    this.#options = options;
  }

  /** @param hosts object ids of roles that may hold what they need */
  async look(connection: OwnConnection, hosts: readonly string[]): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
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
      (await this.#options.change(async (own) => {
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
    this.#options.log.warn(
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
