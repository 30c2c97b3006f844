import type { OwnConnection } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { endBackends } from './lock-holders.js';

/** Pages of 8 KiB that notifications of a server may wait in: a gigabyte of disk. */
export const MAX_QUEUE_PAGES = 131_072;
/** Notifications that wait for a listener: 32 MiB, some hundred thousand of those that agent servers send. */
const MOST_PAGES = 4_096;
const LOG_MS = 60_000;

/** Functions alone, which take no entry of the lock table. The queue's end is moved up first. */
const WAITING =
  "SELECT pg_notification_queue_usage() * current_setting('max_notify_queue_pages')::int > $1 AS is_long";

/**
 * Sessions that may keep notifications: they are in a transaction, or send to a client that does not read.
 * Sessions of roles that are notifying at this moment come first (such a role holds the lock of no database),
 * then the oldest.
 */
const STANDING = `WITH act AS MATERIALIZED (
    SELECT pid, usesysid, xact_start FROM pg_stat_get_activity(NULL)
    WHERE usesysid IS NOT NULL AND backend_type = 'client backend'
  ), notifying AS (
    SELECT a.usesysid FROM pg_lock_status() l JOIN act a ON a.pid = l.pid
    WHERE l.granted AND l.locktype = 'object' AND l.classid = 1262 AND l.objid = 0
  )
  SELECT pid, usesysid::text AS role FROM act WHERE xact_start IS NOT NULL AND usesysid::text <> ALL ($1)
  ORDER BY usesysid IN (SELECT usesysid FROM notifying) DESC, xact_start`;

/** A session that kept notifications of all databases from being forgotten. */
export interface QueueHolder {
  readonly pid: number;
  /** Object id of its role. */
  readonly role: string;
}

/**
 * Keeps space in the queue of notifications, which is one for all databases of a server: a listening session
 * that stays in a transaction keeps all that comes after, and once the queue is full no transaction that
 * notifies commits anywhere. Postgres does not show which sessions listen. So sessions are ended, the most
 * likely first, until the queue is short.
 */
export class NotificationQueue {
  readonly #log: Logger;
  readonly #clock: Clock;
  #loggedMs = -Infinity;

  constructor({ log, clock }: { readonly log: Logger; readonly clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /**
   * @param hosts object ids of roles that may hold what they need
   * @returns the session that kept notifications, which has ended
   */
  async look(connection: OwnConnection, hosts: readonly string[]): Promise<QueueHolder | undefined> {
    if (!(await isLong(connection))) return undefined;
    await connection.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await connection.query<QueueHolder>({
      name: 'standing',
      text: STANDING,
      values: [hosts],
    });
    for (const holder of rows) {
      await endBackends(connection, [holder.pid]);
      if (!(await isLong(connection))) return holder;
    }
    this.#report();
    return undefined;
  }

  #report(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#loggedMs < LOG_MS) return;
    this.#loggedMs = nowMs;
    this.#log.warn(
      { most: MOST_PAGES, full: MAX_QUEUE_PAGES },
      'notifications of Postgres pend in more pages than they should, and no session of an agent keeps them; find sessions that are idle in a transaction in pg_stat_activity',
    );
  }
}

async function isLong(connection: OwnConnection): Promise<boolean> {
  const { rows } = await connection.query<{ is_long: boolean }>({
    name: 'queue',
    text: WAITING,
    values: [MOST_PAGES],
  });
  return rows[0]?.is_long ?? false;
}
