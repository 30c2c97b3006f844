import type { ThreadTtl } from '../row/thread-ttl.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

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
