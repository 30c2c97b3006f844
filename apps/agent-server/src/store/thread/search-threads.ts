import { boundedPage } from '../bounded-page.js';
import { THREAD_COLUMNS, wireThread, type ThreadRow, type WireThread } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { threadConditions, type ThreadSearch } from '../row/thread-conditions.js';

export interface ThreadPage {
  readonly limit: number;
  readonly offset: number;
  /** A column by its name: it becomes part of the statement. */
  readonly sortBy: 'thread_id' | 'status' | 'created_at' | 'updated_at' | 'state_updated_at';
  readonly isAscending: boolean;
}

/** The page; a part of it where its threads are large. */
export async function searchThreads(
  scope: Scope,
  sql: Sql,
  search: ThreadSearch,
  page: ThreadPage,
): Promise<WireThread[]> {
  const { text, values } = threadConditions(search);
  const { rows } = await sql.inScope<ThreadRow>(scope, {
    scans: true,
    text: boundedPage({
      columns: THREAD_COLUMNS,
      alias: 't',
      rows: `SELECT ${THREAD_COLUMNS} FROM agentplane.threads WHERE ${text}
        ORDER BY ${page.sortBy} ${page.isAscending ? 'ASC' : 'DESC'}, thread_id
        LIMIT $${values.length + 2} OFFSET $${values.length + 3}`,
      large: ['metadata', 'values', 'interrupts', 'error'],
    }),
    values: [...values, page.limit, page.offset],
  });
  return rows.map(wireThread);
}
