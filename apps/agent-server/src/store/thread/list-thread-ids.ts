import { threadConditions, type ThreadSearch } from '../row/thread-conditions.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Ids of threads, oldest first. */
export async function listThreadIds(
  scope: Scope,
  sql: Sql,
  search: ThreadSearch,
  limit: number,
): Promise<string[]> {
  const { text, values } = threadConditions(search);
  const { rows } = await sql.inScope<{ thread_id: string }>(scope, {
    scans: 'Searching threads',
    text: `SELECT thread_id FROM agentplane.threads WHERE ${text}
      ORDER BY created_at, thread_id LIMIT $${values.length + 2}`,
    values: [...values, limit],
  });
  return rows.map((row) => row.thread_id);
}
