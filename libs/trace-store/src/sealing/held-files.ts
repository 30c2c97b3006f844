import type { Queryable } from '#lib/postgres';

/** Shared by the backups under way, for as long as their session. */
const LOCK = 7_214_024;

/**
 * Keeps all files of sealed days until the session ends: a backup names those that were in force at its moment, and copies
 * them before and after it.
 */
export async function holdSealedFiles(session: Queryable): Promise<void> {
  await session.query('SELECT pg_advisory_lock_shared($1)', [LOCK]);
}

/** True while a backup is under way. */
export async function areFilesHeld(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ held: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS held`,
    [LOCK],
  );
  return rows[0]?.held ?? false;
}
