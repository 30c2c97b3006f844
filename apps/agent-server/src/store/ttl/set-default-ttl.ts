import type { ThreadTtl } from '../row/thread-ttl.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Lifetime of threads made from now on that ask for none; undefined: they never expire. */
export async function setDefaultTtl(scope: WorkerScope, sql: Sql, ttl: ThreadTtl | undefined): Promise<void> {
  await sql.asWorker(
    scope,
    ttl
      ? {
          text: `INSERT INTO agentplane.thread_ttl_default (strategy, minutes) VALUES ($1, $2)
            ON CONFLICT (only_row) DO UPDATE SET strategy = EXCLUDED.strategy, minutes = EXCLUDED.minutes`,
          values: [ttl.strategy, ttl.minutes],
        }
      : { text: 'DELETE FROM agentplane.thread_ttl_default' },
  );
}
