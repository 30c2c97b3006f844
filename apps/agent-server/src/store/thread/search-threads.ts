import { boundedPage } from '../bounded-page.js';
import {
  LARGE_THREAD_FIELDS,
  THREAD_FIELDS,
  threadJson,
  type ThreadField,
  type ThreadText,
} from '../row/thread-row.js';
import { threadConditions, type ThreadSearch } from '../row/thread-conditions.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

export interface ThreadPage {
  readonly limit: number;
  readonly offset: number;
  /** A column by its name: it becomes part of the statement. */
  readonly sortBy: 'thread_id' | 'status' | 'created_at' | 'updated_at' | 'state_updated_at';
  readonly isAscending: boolean;
  /** Fields that are shown; all by default. Nothing else is read. */
  readonly shown?: readonly ThreadField[] | undefined;
  /** Fields that are read beside them. */
  readonly extracted?: readonly ThreadField[] | undefined;
}

export interface FoundThread {
  readonly thread: ThreadText;
  /** The fields that were to be read beside it; null without any. */
  readonly extracted: ThreadText | null;
}

/** The page; a part of it when its threads are large. */
export async function searchThreads(
  scope: Scope,
  sql: Sql,
  search: ThreadSearch,
  page: ThreadPage,
): Promise<FoundThread[]> {
  const { text, values } = threadConditions(search);
  const { shown = THREAD_FIELDS, extracted = [], sortBy } = page;
  const read = [...new Set([...shown, ...extracted])];
  const { rows } = await sql.inScope<FoundThread>(scope, {
    scans: 'Searching threads',
    text: boundedPage({
      columns: `${threadJson(shown)} AS thread, ${extracted.length > 0 ? threadJson(extracted) : 'NULL'} AS extracted`,
      alias: 't',
      rows: `SELECT ${read.join(', ')} FROM agentplane.threads WHERE ${text}
        ORDER BY ${sortBy} ${page.isAscending ? 'ASC' : 'DESC'}, thread_id
        LIMIT $${values.length + 2} OFFSET $${values.length + 3}`,
      large: LARGE_THREAD_FIELDS.filter((field) => read.includes(field)),
    }),
    values: [...values, page.limit, page.offset],
  });
  return rows;
}
