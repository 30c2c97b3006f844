import { parseRoleNote, renderRoleNote } from '#lib/deployment-database';
import { errorText } from '#lib/errors';
import { openConnection, type OwnConnection } from '#lib/postgres';
import { sendSignal } from '#lib/process-identity';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { SUPERUSER } from '../cluster.js';
import { backendsOf } from './backend-titles.js';
import { backendsToEnd, type LockBudget, type LockHolder } from './backends-to-end.js';
import { ConnectionShares } from './connection-shares.js';
import {
  endBackends,
  endBackendsOf,
  keepCatalogLocked,
  listLockHolders,
  readLockBudget,
} from './lock-holders.js';
import { MAX_MUTE, MuteSessions } from './mute-sessions.js';
import { NotificationQueue } from './notification-queue.js';
import { VacuumPace } from './vacuum-pace.js';

/** Title of a backend's process: `postgres: ROLE DATABASE ADDRESS(PORT) ACTIVITY`. */
const BACKEND = /^postgres: (\S+) .*\(\d+\)( |$)/;

/**
 * Ends the backends of tenant roles from outside, by the titles of their processes: this works when the
 * server cannot take one more session.
 * @param hosts names of the roles that stay
 * @returns the number of ended backends
 */
function endGuests(postmaster: number, hosts: readonly string[]): number {
  const guests = backendsOf(postmaster).filter(({ title }) => {
    const role = BACKEND.exec(title)?.[1];
    return role !== undefined && !hosts.includes(role);
  });
  for (const { pid } of guests) sendSignal(pid, 'SIGTERM', false);
  return guests.length;
}

/** Object ids of superusers and of the roles of these names. */
async function listHosts(connection: OwnConnection, names: readonly string[]): Promise<readonly string[]> {
  const { rows } = await connection.query<{ oid: string }>(
    'SELECT oid::text FROM pg_authid WHERE rolsuper OR rolname = ANY ($1)',
    [names],
  );
  return rows.map(({ oid }) => oid);
}

/** The name of a role; undefined when it was dropped. */
async function findRoleName(connection: OwnConnection, role: string): Promise<string | undefined> {
  const { rows } = await connection.query<{ rolname: string }>(
    'SELECT rolname FROM pg_authid WHERE oid = $1::oid',
    [role],
  );
  return rows[0]?.rolname;
}

/** Lets no new connection of the role in; those that it has stay. */
async function suspendRole(connection: OwnConnection, name: string): Promise<void> {
  await admit(connection, name, false);
}

/** Lets a suspended role in again. */
async function restoreRole(connection: OwnConnection, name: string): Promise<void> {
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
async function listSuspended(connection: OwnConnection): Promise<ReadonlyMap<string, string>> {
  const { rows } = await connection.query<{ oid: string; rolname: string; comment: string | null }>(
    `SELECT oid::text, rolname, shobj_description(oid, 'pg_authid') AS comment FROM pg_authid
    WHERE NOT rolcanlogin`,
  );
  const suspended = rows.filter(({ comment }) => parseRoleNote(comment)?.isSuspended);
  return new Map(suspended.map(({ oid, rolname }) => [oid, rolname]));
}

export interface ServerGuardOptions {
  readonly superuserUri: string;
  /** Roles that may hold what they need; all others but superusers are tenant roles. */
  readonly hosts: readonly string[];
  /** The server's first process as it is now. */
  readonly postmaster: () => number;
  readonly log: Logger;
  readonly clock: Clock;
}

interface Session {
  readonly connection: OwnConnection;
  readonly budget: LockBudget;
  /** Object ids; fewer than names while the platform's first start is still making its roles. */
  readonly hosts: readonly string[];
}

type Work = (connection: OwnConnection) => Promise<void>;

/** State of a role that held too much. A role without one has done nothing lately. */
type Standing =
  | { readonly kind: 'warned'; readonly atMs: number; readonly pids: readonly number[] }
  | { readonly kind: 'suspended'; readonly untilMs: number; readonly isApplied: boolean };

/**
 * Interval between checks: a connection takes some 60,000 locks a second, and the table holds about 50,000.
 */
const LOOK_MS = 1_000;
/** Interval while too many sessions have not logged in. */
const CROWDED_LOOK_MS = 100;
const MUTE_LOG_MS = 60_000;
const SUSPENDED_MS = 60_000;
/** A role that offends again within this time is suspended. */
const WARNED_MS = 300_000;

/** SQLSTATEs of a server that cannot take a session: its shared memory, or its connections, are used up. */
const NO_ROOM: readonly unknown[] = ['53200', '53300'];

/** The code of an error, or of its cause: a refused login is no answer of a server that proved itself. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  return 'code' in error ? error.code : codeOf(error.cause);
}

/**
 * Keeps the lock table of a shared server free for all: every role may fill it, no setting limits one role's
 * part, and while it is full no other session can even begin. One session of a superuser is held open for
 * that and checks every second, with statements that take no entry of the table. The limits against one
 * workspace with all connections, and against a full queue of notifications, are classes of their own
 * (ConnectionShares, NotificationQueue).
 *
 * A tenant role within the budget has no state → holds too much, of locks or of the queue: backends are
 * ended, it is `warned` → again within five minutes: `suspended` (NOLOGIN, all its backends are ended) →
 * after a minute `warned` again, so that the next time suspends at once. A suspension is marked in the
 * database; a new session lifts those that it does not know.
 */
export class ServerGuard {
  readonly #standings = new Map<string, Standing>();
  #session: Session | undefined;
  #looking: Promise<void> = Promise.resolve();
  #cancel: () => void = () => undefined;
  #isStopped = false;
  #isFailing = false;
  readonly #mute = new MuteSessions();
  readonly #shares: ConnectionShares;
  readonly #queue: NotificationQueue;
  readonly #vacuum: VacuumPace;
  #muteLoggedMs = -Infinity;

  constructor(private readonly options: ServerGuardOptions) {
    const { log, clock } = options;
    this.#queue = new NotificationQueue(options);
    const change = (work: Work): Promise<boolean> => this.#change(work);
    this.#shares = new ConnectionShares({ log, clock, change });
    this.#vacuum = new VacuumPace({ clock, change });
  }

  start(): void {
    this.#looking = this.#look().finally(() => {
      if (this.#isStopped) return;
      const lookMs = this.#mute.isCrowded ? CROWDED_LOOK_MS : LOOK_MS;
      this.#cancel = this.options.clock.after(lookMs, () => this.start());
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#looking;
    await this.#close();
  }

  async #look(): Promise<void> {
    const { log } = this.options;
    this.#endMute();
    try {
      const session = (this.#session = await this.#ready());
      const { connection, budget, hosts } = session;
      const ended = backendsToEnd(await listLockHolders(connection, budget, hosts), budget);
      if (ended.length > 0) await this.#end(connection, ended);
      await this.#lookAtQueue(connection, hosts);
      for (const [role, standing] of this.#standings) await this.#advance(connection, role, standing);
      await this.#shares.look(connection, hosts);
      await this.#vacuum.look(connection);
      this.#isFailing = false;
    } catch (error) {
      await this.#close();
      if (!this.#isFailing)
        log.warn({ error: errorText(error) }, 'watching the sessions of Postgres failed, retrying');
      this.#isFailing = true;
    }
  }

  /** Ends sessions before login. It needs no session of its own: the server may not be able to take one. */
  #endMute(): void {
    const { postmaster, clock, log } = this.options;
    const nowMs = clock.monotonicMs();
    const ended = this.#mute.end(postmaster(), nowMs);
    if (ended === 0 || nowMs - this.#muteLoggedMs < MUTE_LOG_MS) return;
    this.#muteLoggedMs = nowMs;
    log.warn(
      { ended, most: MAX_MUTE },
      'ended connections to Postgres that did not log in: more of them than may at once; find what opens them on this machine',
    );
  }

  async #ready(): Promise<Session> {
    const { hosts: names } = this.options;
    const known = this.#session;
    if (!known) return await this.#open();
    // superusers are among them
    if (known.hosts.length > names.length) return known;
    return { ...known, hosts: await listHosts(known.connection, names) };
  }

  async #open(): Promise<Session> {
    const { superuserUri: uri, hosts: names, postmaster, log } = this.options;
    let connection: OwnConnection | undefined;
    try {
      connection = await openConnection({ uri, applicationName: 'agentplane guard' });
      const hosts = await listHosts(connection, names);
      const session = { connection, budget: await readLockBudget(connection), hosts };
      await this.#restoreLeft(connection);
      await keepCatalogLocked(connection);
      return session;
    } catch (error) {
      await connection?.end().catch(() => undefined);
      if (NO_ROOM.includes(codeOf(error))) {
        const ended = endGuests(postmaster(), [...names, SUPERUSER]);
        log.warn(
          { ended },
          'ended all connections of agents: Postgres had no room for a session of the platform',
        );
      }
      throw error;
    }
  }

  /** Suspensions of a former guard, whatever was left of their minute. */
  async #restoreLeft(connection: OwnConnection): Promise<void> {
    for (const [role, name] of await listSuspended(connection))
      if (this.#standings.get(role)?.kind !== 'suspended') await this.#restore(connection, name);
  }

  async #end(connection: OwnConnection, ended: readonly LockHolder[]): Promise<void> {
    const { log } = this.options;
    await endBackends(
      connection,
      ended.map(({ pid }) => pid),
    );
    for (const [role, holders] of Map.groupBy(ended, (holder) => holder.role)) {
      const pids = holders.map(({ pid }) => pid);
      if (!this.#judge(role, pids)) continue;
      const locks = holders.reduce((sum, holder) => sum + holder.locks, 0);
      log.warn(
        { role: await findRoleName(connection, role), locks, connections: pids.length },
        'ended connections of an agent: they held so many locks that others could get none; find what locks so much in the deployment whose id follows agent_ in the role',
      );
    }
  }

  async #lookAtQueue(connection: OwnConnection, hosts: readonly string[]): Promise<void> {
    const holder = await this.#queue.look(connection, hosts);
    if (!holder || !this.#judge(holder.role, [holder.pid])) return;
    this.options.log.warn(
      { role: await findRoleName(connection, holder.role) },
      'ended a connection of an agent: notifications of all databases waited for it; find what listens in a long transaction, or does not read, in the deployment whose id follows agent_ in the role',
    );
  }

  /** True when this is news: an ended backend may still hold its locks at the next check. */
  #judge(role: string, pids: readonly number[]): boolean {
    const now = this.options.clock.monotonicMs();
    const standing = this.#standings.get(role);
    if (standing?.kind === 'suspended') return false;
    if (standing && pids.every((pid) => standing.pids.includes(pid))) return false;
    this.#standings.set(
      role,
      standing
        ? { kind: 'suspended', untilMs: now + SUSPENDED_MS, isApplied: false }
        : { kind: 'warned', atMs: now, pids },
    );
    return true;
  }

  async #advance(connection: OwnConnection, role: string, standing: Standing): Promise<void> {
    const { log, clock } = this.options;
    const now = clock.monotonicMs();
    if (standing.kind === 'warned') {
      if (now - standing.atMs > WARNED_MS) this.#standings.delete(role);
      return;
    }
    // one that was logging in when its role was suspended comes late
    if (standing.isApplied && now < standing.untilMs) return await endBackendsOf(connection, role);
    const name = await findRoleName(connection, role);
    if (name === undefined) {
      this.#standings.delete(role);
    } else if (standing.isApplied) {
      if (!(await this.#change((own) => this.#restore(own, name)))) return;
      this.#standings.set(role, { kind: 'warned', atMs: now, pids: [] });
    } else {
      await endBackendsOf(connection, role);
      if (!(await this.#change((own) => suspendRole(own, name)))) return;
      this.#standings.set(role, { ...standing, isApplied: true });
      log.warn(
        { role: name, seconds: SUSPENDED_MS / 1_000 },
        'suspended the role of an agent: it held too many locks, or the queue of notifications, again; mend or suspend the deployment whose id follows agent_ in the role',
      );
    }
  }

  /**
   * Runs work in another session, since that of the guard stays in its transaction. One that fails is tried
   * at the next check.
   */
  async #change(work: Work): Promise<boolean> {
    const { superuserUri: uri, log } = this.options;
    let connection: OwnConnection | undefined;
    try {
      connection = await openConnection({ uri, applicationName: 'agentplane guard' });
      await work(connection);
      return true;
    } catch (error) {
      log.warn(
        { error: errorText(error) },
        'changing what a role may, or a setting of Postgres, failed, retrying',
      );
      return false;
    } finally {
      await connection?.end().catch(() => undefined);
    }
  }

  async #restore(connection: OwnConnection, name: string): Promise<void> {
    await restoreRole(connection, name);
    this.options.log.info({ role: name }, 'role of an agent may log in again');
  }

  async #close(): Promise<void> {
    const { connection } = this.#session ?? {};
    this.#session = undefined;
    await connection?.end().catch(() => undefined);
  }
}
