import type { Queryable } from '#lib/postgres';
import type { Clock } from '#lib/time';

/** Sessions of a command that was killed a moment ago, and of pods that are stopping, end by themselves. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 250;

/** Every role may read whose session it is and how it calls itself. Monitoring and the like log in as other roles. */
const SESSIONS = `SELECT current_database() AS database, application_name AS name, count(*)::int AS count
  FROM pg_stat_activity
  WHERE datname = current_database() AND usename = current_user AND application_name <> $1
  GROUP BY 2 ORDER BY 2`;

/**
 * Looks for other sessions of the role of a database: servers of the deployment, and what its graphs opened.
 * @param ownName the name of the sessions that are this program's
 * @throws Error that names them, when they are still there after some seconds
 */
export async function requireNoSessions(
  database: Queryable,
  { ownName, clock }: { readonly ownName: string; readonly clock: Clock },
): Promise<void> {
  for (const start = clock.monotonicMs(); ; await clock.sleep(PAUSE_MS)) {
    const { rows } = await database.query<{ database: string; name: string; count: number }>(SESSIONS, [
      ownName,
    ]);
    const [first] = rows;
    if (first === undefined) return;
    if (clock.monotonicMs() - start < PATIENCE_MS) continue;
    const names = rows.map(
      ({ name, count }) => `${count} of ${name === '' ? 'a program without a name' : name}`,
    );
    throw new Error(
      `moving a database failed: ${first.database} has open sessions (${names.join(', ')}); suspend its deployment and repeat`,
    );
  }
}
