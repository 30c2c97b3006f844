import type { ThreadTtl } from '../row/thread-ttl.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** An expired thread. */
export interface ExpiredThread {
  readonly threadId: string;
  readonly strategy: ThreadTtl['strategy'];
}

interface Row {
  readonly thread_id: string;
  readonly strategy: ThreadTtl['strategy'];
  readonly is_expired: boolean;
}

/** Each is checked again when it may expire next, and after a minute when a server dies in the middle. */
const CLAIM = `
WITH due AS (
  SELECT x.thread_id FROM agentplane.thread_ttls x WHERE x.check_at <= clock_timestamp()
  ORDER BY x.check_at LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE agentplane.thread_ttls x
SET check_at = greatest(t.updated_at + x.minutes * interval '1 minute', clock_timestamp() + interval '1 minute')
FROM due JOIN agentplane.threads t ON t.thread_id = due.thread_id WHERE x.thread_id = due.thread_id
RETURNING x.thread_id, x.strategy,
  t.updated_at + x.minutes * interval '1 minute' <= clock_timestamp() AS is_expired`;

/** Checks up to `limit` threads that may have expired. @returns their number, and the expired ones */
export async function claimExpiredThreads(
  scope: WorkerScope,
  sql: Sql,
  limit: number,
): Promise<{ readonly seen: number; readonly expired: readonly ExpiredThread[] }> {
  const { rows } = await sql.asWorker<Row>(scope, { text: CLAIM, values: [limit] });
  const expired = rows
    .filter((row) => row.is_expired)
    .map((row) => ({ threadId: row.thread_id, strategy: row.strategy }));
  return { seen: rows.length, expired };
}
