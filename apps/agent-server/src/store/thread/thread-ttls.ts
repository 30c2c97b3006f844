import type { ThreadTtl, WireThreadTtl } from '../row/thread-row.js';
import type { Scope, WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

interface TtlRow extends ThreadTtl {
  readonly expires_at: Date;
}

/** Undefined for a thread that never expires. */
export async function findThreadTtl(
  scope: Scope,
  sql: Sql,
  threadId: string,
): Promise<WireThreadTtl | undefined> {
  const { rows } = await sql.inScope<TtlRow>(scope, {
    text: `SELECT x.strategy, x.minutes, t.updated_at + x.minutes * interval '1 minute' AS expires_at
      FROM agentplane.thread_ttls x JOIN agentplane.threads t ON t.thread_id = x.thread_id
      WHERE x.thread_id = $2 AND ${visible('t.metadata')}`,
    values: [threadId],
  });
  const [row] = rows;
  return (
    row && { strategy: row.strategy, ttl_minutes: row.minutes, expires_at: row.expires_at.toISOString() }
  );
}

const SET = `
INSERT INTO agentplane.thread_ttls (thread_id, strategy, minutes, check_at)
SELECT t.thread_id, $3::text, $4::float8, t.updated_at + $4::float8 * interval '1 minute'
FROM agentplane.threads t WHERE t.thread_id = $2 AND ${visible('t.metadata')}
ON CONFLICT (thread_id) DO UPDATE SET strategy = EXCLUDED.strategy, minutes = EXCLUDED.minutes,
  check_at = EXCLUDED.check_at`;

/** Answers true when there is such a thread. */
export async function setThreadTtl(
  scope: Scope,
  sql: Sql,
  threadId: string,
  { strategy, minutes }: ThreadTtl,
): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, { text: SET, values: [threadId, strategy, minutes] });
  return rowCount === 1;
}

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

/** Schedules the next check of a pruned thread one lifetime later, after a minute at least. */
export async function restThreadTtl(scope: WorkerScope, sql: Sql, threadId: string): Promise<void> {
  await sql.asWorker(scope, {
    text: `UPDATE agentplane.thread_ttls
      SET check_at = clock_timestamp() + greatest(minutes, 1) * interval '1 minute' WHERE thread_id = $1`,
    values: [threadId],
  });
}

/** An expired thread. */
export interface ExpiredThread {
  readonly threadId: string;
  readonly strategy: ThreadTtl['strategy'];
}

interface ExpiredRow {
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
  const { rows } = await sql.asWorker<ExpiredRow>(scope, { text: CLAIM, values: [limit] });
  const expired = rows
    .filter((row) => row.is_expired)
    .map((row) => ({ threadId: row.thread_id, strategy: row.strategy }));
  return { seen: rows.length, expired };
}
