import { CRON_CONDITIONS, cronValues, type CronSearch } from '../row/cron-conditions.js';
import { boundedPage } from '../bounded-page.js';
import { CRON_COLUMNS, wireCron, type CronRow, type WireCron } from '../row/cron-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

export interface CronPage {
  readonly limit: number;
  readonly offset: number;
  /** A column by its name: it becomes part of the statement. */
  readonly sortBy: 'cron_id' | 'assistant_id' | 'thread_id' | 'created_at' | 'updated_at' | 'next_run_date';
  readonly isAscending: boolean;
}

/** The page; a part of it when its payloads are large. */
export async function searchCrons(
  scope: Scope,
  sql: Sql,
  search: CronSearch,
  { limit, offset, sortBy, isAscending }: CronPage,
): Promise<WireCron[]> {
  const { rows } = await sql.inScope<CronRow>(scope, {
    scans: 'Searching crons',
    text: boundedPage({
      columns: CRON_COLUMNS,
      alias: 'c',
      rows: `SELECT ${CRON_COLUMNS} FROM agentplane.crons c WHERE ${CRON_CONDITIONS}
        ORDER BY c.${sortBy} ${isAscending ? 'ASC' : 'DESC'} NULLS LAST, c.cron_id LIMIT $6 OFFSET $7`,
      large: ['metadata', 'payload'],
    }),
    values: [...cronValues(search), limit, offset],
  });
  return rows.map(wireCron);
}
