import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Answers whether there was one to remove; runs that it made stay. */
export async function removeCron(scope: Scope, sql: Sql, cronId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.crons WHERE cron_id = $2 AND ${visible('metadata')}`,
    values: [cronId],
  });
  return rowCount === 1;
}
