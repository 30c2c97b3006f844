/** A session of a role that is no host. */
export interface GuestSession {
  readonly pid: number;
  /** Object id of its role. */
  readonly role: string;
}

export interface GuestRole {
  /** Object id. */
  readonly id: string;
  /** Roles of one workspace share its remaining connections. */
  readonly workspace: string;
  /** Maximum number of connections that it may have at all; a negative number is no limit. */
  readonly connections: number;
  /** Maximum number that it may have at present. */
  readonly limit: number;
}

export interface Occupation {
  /** The most idle first. */
  readonly sessions: readonly GuestSession[];
  readonly roles: readonly GuestRole[];
  /** Connections that are free for tenant roles. */
  readonly free: number;
  /** Connections that are to be free for a workspace that holds none. */
  readonly reserve: number;
  /** True when limits may be restored: one that was just lowered would be filled at once. */
  readonly mayRestore: boolean;
}

export interface Shares {
  readonly ended: readonly GuestSession[];
  /** Limits of roles that have to change, by object id. */
  readonly limits: ReadonlyMap<string, number>;
}

interface Holder {
  readonly role: GuestRole;
  readonly sessions: GuestSession[];
}

const most = ({ connections }: GuestRole): number => (connections < 0 ? Infinity : connections);
const isLowered = (role: GuestRole): boolean => role.limit >= 0 && role.limit < most(role);

/**
 * Selects the sessions that have to end so that a workspace without connections gets some, and the limits of
 * the roles of workspaces that lost sessions. Each session is the most idle one of the largest role of the
 * workspace that holds most, so that the rest is distributed as evenly as possible. The limits of such a
 * workspace add up to its connections and its part of the free ones beyond the reserve; they are restored
 * once half of all connections are free, or no other workspace has a role.
 */
export function shareConnections({ sessions, roles, free, reserve, mayRestore }: Occupation): Shares {
  const workspaces = holdersOf(sessions, roles);
  const ended: GuestSession[] = [];
  const cut = new Set<string>();
  const isAlone = workspaces.size < 2;
  // a newcomer is owed no more than an even part
  const holding = [...workspaces.values()].filter((holders) => heldBy(holders) > 0).length;
  const owed = Math.min(reserve, Math.floor((free + sessions.length) / (holding + 1)));
  while (!isAlone && free + ended.length < owed) {
    const [workspace, holders] = largest([...workspaces], ([, all]) => heldBy(all)) ?? [];
    const session = holders && largest(holders, (holder) => holder.sessions.length)?.sessions.shift();
    if (workspace === undefined || !session) break;
    ended.push(session);
    cut.add(workspace);
  }
  const left = free + ended.length;
  const isCalm = isAlone || (mayRestore && left >= (free + sessions.length) / 2);
  const lowered = [...workspaces].filter(
    ([workspace, holders]) => cut.has(workspace) || holders.some(({ role }) => isLowered(role)),
  );
  const limits = new Map<string, number>();
  for (const [, holders] of lowered) {
    const spare = Math.floor(Math.max(0, left - owed) / lowered.length);
    const next = isCalm ? undefined : limitsWithin(holders, spare);
    for (const { role } of holders) {
      const limit = next?.get(role.id) ?? role.connections;
      if (limit !== role.limit) limits.set(role.id, limit);
    }
  }
  return { ended, limits };
}

/**
 * Limits that add up to the connections of the roles and the spare. The roles at their limit with the fewest
 * connections get of it first.
 */
function limitsWithin(holders: readonly Holder[], spare: number): ReadonlyMap<string, number> {
  let left = spare;
  const limits = new Map<string, number>();
  const wanting: GuestRole[] = [];
  for (const { role, sessions } of holders.toSorted((a, b) => a.sessions.length - b.sessions.length)) {
    const held = sessions.length;
    const unused = isLowered(role) ? Math.min(left, Math.max(0, role.limit - held)) : 0;
    if (unused === 0) wanting.push(role);
    left -= unused;
    limits.set(role.id, held + unused);
  }
  for (let given = -1; given !== 0;) {
    given = 0;
    for (const role of wanting) {
      const limit = limits.get(role.id) ?? 0;
      if (given === left || limit >= most(role)) continue;
      limits.set(role.id, limit + 1);
      given++;
    }
    left -= given;
  }
  return limits;
}

function holdersOf(
  sessions: readonly GuestSession[],
  roles: readonly GuestRole[],
): ReadonlyMap<string, readonly Holder[]> {
  const byRole = Map.groupBy(sessions, ({ role }) => role);
  const holders = roles.map((role) => ({ role, sessions: [...(byRole.get(role.id) ?? [])] }));
  return Map.groupBy(holders, ({ role }) => role.workspace);
}

function heldBy(holders: readonly Holder[]): number {
  return holders.reduce((sum, { sessions }) => sum + sessions.length, 0);
}

function largest<T>(all: readonly T[], size: (one: T) => number): T | undefined {
  let found: T | undefined;
  for (const one of all) if (!found || size(one) > size(found)) found = one;
  return found;
}
