import { CRON_COLUMNS, wireCron, type CronRow, type WireCron } from '../row/cron-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** @param isLocked until the end of the transaction it neither fires nor changes */
export async function findCron(
  scope: Scope,
  sql: Sql,
  cronId: string,
  isLocked = false,
): Promise<WireCron | undefined> {
  const { rows } = await sql.inScope<CronRow>(scope, {
    text: `SELECT ${CRON_COLUMNS} FROM agentplane.crons c WHERE c.cron_id = $2 AND ${visible('c.metadata')}
      ${isLocked ? 'FOR UPDATE' : ''}`,
    values: [cronId],
  });
  return rows[0] && wireCron(rows[0]);
}
