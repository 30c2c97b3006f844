import type { JsonObject } from '#lib/json';
import { CRON_CONDITIONS, cronValues } from '../row/cron-conditions.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Removes all crons whose metadata contains this. @returns their number */
export async function removeCrons(scope: Scope, sql: Sql, metadata: JsonObject): Promise<number> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.crons c WHERE ${CRON_CONDITIONS}`,
    values: cronValues({ metadata }),
  });
  return rowCount ?? 0;
}
