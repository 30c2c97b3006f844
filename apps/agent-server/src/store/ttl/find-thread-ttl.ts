import type { ThreadTtl, WireThreadTtl } from '../row/thread-ttl.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

interface Row extends ThreadTtl {
  readonly expires_at: Date;
}

/** Undefined for a thread that never expires. */
export async function findThreadTtl(
  scope: Scope,
  sql: Sql,
  threadId: string,
): Promise<WireThreadTtl | undefined> {
  const { rows } = await sql.inScope<Row>(scope, {
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
