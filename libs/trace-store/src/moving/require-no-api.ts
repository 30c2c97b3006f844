import type { Pool } from '#lib/postgres';
import { sessionName } from '../session-name.js';

/**
 * Looks for sessions of an api in a database, by their name, which every role may read. An idle api closes
 * its sessions after half a minute, and a pooler may show names of its own, so one that is not found may run
 * all the same.
 * @throws Error with the number of sessions
 */
export async function requireNoApi(database: Pool): Promise<void> {
  const { rows } = await database.query<{ name: string; sessions: number }>(
    `SELECT current_database() AS name, count(*)::int AS sessions FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1`,
    [sessionName('api')],
  );
  const [{ name, sessions } = { name: '', sessions: 0 }] = rows;
  if (sessions === 0) return;
  throw new Error(
    `moving traces failed: an api has ${sessions} sessions in the database ${name}; scale it to 0, or stop it, and repeat`,
  );
}
