import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The time by which crons fire, independent of the clocks of servers. */
export async function databaseTime(scope: WorkerScope, sql: Sql): Promise<Date> {
  const { rows } = await sql.asWorker<{ now: Date }>(scope, { text: 'SELECT clock_timestamp() AS now' });
  if (!rows[0]) throw new Error('the database answered no time');
  return rows[0].now;
}
