import { boundedPage } from '../bounded-page.js';
import { runColumns, type RunField, type RunRow } from '../row/run-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

export interface RunPage {
  readonly limit: number;
  readonly offset: number;
  readonly status: string | undefined;
  /** Fields that are read. */
  readonly fields: readonly RunField[];
}

/** Runs of a thread, newest first: the page, or a part of it when their inputs are large. */
export async function listRuns(scope: Scope, sql: Sql, threadId: string, page: RunPage): Promise<RunRow[]> {
  const { rows } = await sql.inScope<RunRow>(scope, {
    text: boundedPage({
      columns: 'r.*',
      alias: 'r',
      rows: `SELECT ${runColumns(page.fields)} FROM agentplane.runs r
        WHERE r.thread_id = $2 AND ($3::text IS NULL OR r.status = $3) AND ${RUN_IS_VISIBLE}
        ORDER BY r.ordinal DESC LIMIT $4 OFFSET $5`,
      large: ['metadata', 'kwargs'],
    }),
    values: [threadId, page.status ?? null, page.limit, page.offset],
  });
  return rows;
}
