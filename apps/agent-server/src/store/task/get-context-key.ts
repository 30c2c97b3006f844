import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The secret of the deployment that names the threads of contexts. No answer may hold it. */
export async function getContextKey(scope: WorkerScope, sql: Sql): Promise<string> {
  const { rows } = await sql.asWorker<{ key: string }>(scope, {
    text: 'SELECT key FROM agentplane.context_key',
  });
  const [row] = rows;
  if (row) return row.key;
  throw new Error('agentplane.context_key is empty; restore the database from a whole backup');
}
