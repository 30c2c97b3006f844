import { CRON_CONDITIONS, cronValues, type CronSearch } from '../row/cron-conditions.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

export async function countCrons(scope: Scope, sql: Sql, search: CronSearch): Promise<number> {
  const { rows } = await sql.inScope<{ count: number }>(scope, {
    scans: 'Counting crons',
    text: `SELECT count(*)::int AS count FROM agentplane.crons c WHERE ${CRON_CONDITIONS}`,
    values: cronValues(search),
  });
  return rows[0]?.count ?? 0;
}
