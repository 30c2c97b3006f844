import { threadConditions, type ThreadSearch } from '../row/thread-conditions.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

export async function countThreads(scope: Scope, sql: Sql, search: ThreadSearch): Promise<number> {
  const { text, values } = threadConditions(search);
  const { rows } = await sql.inScope<{ count: string }>(scope, {
    scans: 'Counting threads',
    text: `SELECT count(*) AS count FROM agentplane.threads WHERE ${text}`,
    values,
  });
  return Number(rows[0]?.count ?? 0);
}
