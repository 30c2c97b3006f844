import type { OwnConnection } from '#lib/postgres';
import type { LockBudget, LockHolder } from './backends-to-end.js';

/**
 * Functions alone, no relation. Locks of the fast path take no entry of the table. Below the budget of one role the
 * answer is empty.
 */
const LOOK = `WITH held AS MATERIALIZED (
    SELECT pid, count(*)::int AS locks FROM pg_lock_status() WHERE NOT fastpath AND pid IS NOT NULL GROUP BY pid
  )
  SELECT pid, locks FROM held WHERE (SELECT sum(locks) FROM held) > $1`;

/** Locks of one role that call for an end: a migration of a thousand tables with their indexes has fewer. */
const ROLE_LOCKS = 4_000;

/**
 * Makes the session able to work while the lock table is full. Functions that ask for the rights of a role read
 * pg_authid, the lock of a shared catalog always takes an entry of the table, and what the session has cached of it is
 * void once any role is altered. So the session keeps that lock, and those of the indexes: in a transaction without end,
 * which has neither a snapshot nor an id between its statements and keeps nothing from being vacuumed.
 */
export async function keepCatalogLocked(connection: OwnConnection): Promise<void> {
  await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY');
  await connection.query('SELECT FROM pg_authid LIMIT 0');
  await connection.query('SELECT FROM pg_shdescription LIMIT 0');
}

/** Number of locks that tenant roles of this server may hold. */
export async function readLockBudget(connection: OwnConnection): Promise<LockBudget> {
  const { rows } = await connection.query<{ room: number }>(
    `SELECT current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int AS room`,
  );
  const half = Math.floor((rows[0]?.room ?? 0) / 2);
  return { perRole: Math.min(ROLE_LOCKS, half), all: half };
}

/** Backends of tenant roles with entries in the lock table, once all together hold more than one role may. */
export async function listLockHolders(
  connection: OwnConnection,
  { perRole }: LockBudget,
  hosts: readonly string[],
): Promise<readonly LockHolder[]> {
  const { rows: held } = await connection.query<Omit<LockHolder, 'role'>>({
    name: 'look',
    text: LOOK,
    values: [perRole],
  });
  if (held.length === 0) return [];
  const roles = await rolesOf(connection);
  return held.flatMap((one) => {
    const role = roles.get(one.pid);
    return role === undefined || hosts.includes(role) ? [] : [{ ...one, role }];
  });
}

/** Time within which an ended backend must release its locks. */
const ENDED_WITHIN_MS = 500;

export async function endBackends(connection: OwnConnection, pids: readonly number[]): Promise<void> {
  await connection.query(
    `SELECT pg_terminate_backend(pid, ${ENDED_WITHIN_MS}) FROM unnest($1::int[]) AS pid`,
    [pids],
  );
}

/** Ends all backends of a role. */
export async function endBackendsOf(connection: OwnConnection, role: string): Promise<void> {
  const pids = [...(await rolesOf(connection))].filter(([, owner]) => owner === role).map(([pid]) => pid);
  if (pids.length > 0) await endBackends(connection, pids);
}

/** Object id of the role by pid. */
async function rolesOf(connection: OwnConnection): Promise<ReadonlyMap<number, string>> {
  // a transaction sees the sessions of its first look again and again
  await connection.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await connection.query<{ pid: number; role: string }>(
    'SELECT pid, usesysid::text AS role FROM pg_stat_get_activity(NULL) WHERE usesysid IS NOT NULL',
  );
  return new Map(rows.map(({ pid, role }) => [pid, role]));
}
