import type { JsonObject } from '#lib/json';
import { boundedPage } from '../bounded-page.js';
import { smallText } from '../json-text.js';
import {
  LARGE_THREAD_FIELDS,
  THREAD_FIELDS,
  THREAD_TEXT,
  threadConditions,
  type ThreadField,
  threadJson,
  threadNotFound,
  type ThreadSearch,
  type ThreadText,
  type ThreadTextRow,
} from '../row/thread-row.js';
import type { Scope, WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible, visibleTo } from '../visible.js';

export async function findThread(scope: Scope, sql: Sql, threadId: string): Promise<ThreadText | undefined> {
  const { rows } = await sql.inScope<ThreadTextRow>(scope, {
    name: 'find-thread',
    text: `SELECT ${THREAD_TEXT} FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId],
  });
  return rows[0]?.thread;
}

/** @throws PublicError `not_found` */
export async function getThread(scope: Scope, sql: Sql, threadId: string): Promise<ThreadText> {
  const thread = await findThread(scope, sql, threadId);
  if (thread === undefined) throw threadNotFound(threadId);
  return thread;
}

/** A thread without the values of graphs, which may be large. */
export interface ThreadHead {
  readonly thread_id: string;
  readonly metadata: JsonObject;
}

export async function findThreadHead(
  scope: Scope,
  sql: Sql,
  threadId: string,
): Promise<ThreadHead | undefined> {
  const { rows } = await sql.inScope<ThreadHead>(scope, {
    name: 'find-thread-head',
    text: `SELECT thread_id, metadata FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId],
  });
  return rows[0];
}

/** @throws PublicError `not_found` */
export async function getThreadHead(scope: Scope, sql: Sql, threadId: string): Promise<ThreadHead> {
  const thread = await findThreadHead(scope, sql, threadId);
  if (!thread) throw threadNotFound(threadId);
  return thread;
}

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

/** Ids of threads, oldest first. */
export async function listThreadIds(
  scope: Scope,
  sql: Sql,
  search: ThreadSearch,
  limit: number,
): Promise<string[]> {
  const { text, values } = threadConditions(search);
  const { rows } = await sql.inScope<{ thread_id: string }>(scope, {
    scans: 'Searching threads',
    text: `SELECT thread_id FROM agentplane.threads WHERE ${text}
      ORDER BY created_at, thread_id LIMIT $${values.length + 2}`,
    values: [...values, limit],
  });
  return rows.map((row) => row.thread_id);
}

export async function countThreads(scope: Scope, sql: Sql, search: ThreadSearch): Promise<number> {
  const { text, values } = threadConditions(search);
  const { rows } = await sql.inScope<{ count: string }>(scope, {
    scans: 'Counting threads',
    text: `SELECT count(*) AS count FROM agentplane.threads WHERE ${text}`,
    values,
  });
  return Number(rows[0]?.count ?? 0);
}

/** The values of a thread as JSON text, as its graph wrote them; undefined without any. */
export async function findValues(scope: Scope, sql: Sql, threadId: string): Promise<string | undefined> {
  const found = await findSmallValues(scope, sql, threadId, true);
  return found === 'large' ? undefined : found;
}

/** The same, unless they are large and must not be. */
export async function findSmallValues(
  scope: Scope,
  sql: Sql,
  threadId: string,
  mayBeLarge: boolean,
): Promise<string | 'large' | undefined> {
  const { rows } = await sql.inScope<{ values: string | null; is_null: boolean }>(scope, {
    name: 'find-values',
    text: `SELECT ${smallText('values::text', '$3')} AS values, values IS NULL AS is_null
      FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId, mayBeLarge],
  });
  const [row] = rows;
  return !row || row.is_null ? undefined : (row.values ?? 'large');
}

/**
 * Questions of a thread, as JSON text: lists of questions by the tasks that ask. Undefined without a thread.
 */
export async function findInterrupts(
  scope: Scope,
  sql: Sql,
  threadId: string,
  mayBeLarge: boolean,
): Promise<string | 'large' | undefined> {
  const { rows } = await sql.inScope<{ interrupts: string | null }>(scope, {
    name: 'find-interrupts',
    text: `SELECT ${smallText('interrupts::text', '$3')} AS interrupts FROM agentplane.threads
      WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId, mayBeLarge],
  });
  return rows[0] && (rows[0].interrupts ?? 'large');
}

const SHOWN = threadJson(['thread_id', 'status', 'values', 'interrupts']);

/** State of a thread after a run: its values, and its questions. */
export async function findThreadEnd(
  scope: Scope,
  sql: Sql,
  threadId: string,
  mayBeLarge: boolean,
): Promise<ThreadText | 'large' | undefined> {
  const { rows } = await sql.inScope<{ shown: ThreadText | null }>(scope, {
    name: 'find-thread-end',
    text: `SELECT ${smallText(SHOWN, '$3')} AS shown FROM agentplane.threads
      WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId, mayBeLarge],
  });
  return rows[0] && (rows[0].shown ?? 'large');
}

/** Bytes of a row and its index entries, beside its contents. */
const BYTES_OF_ROW = 100;

const TABLES = [
  ['checkpoint_blobs', 'coalesce(pg_column_size(o.blob), 0)'],
  ['checkpoint_writes', 'pg_column_size(o.blob)'],
  ['checkpoints', 'pg_column_size(o.checkpoint) + pg_column_size(o.metadata)'],
] as const;

/**
 * Bytes of disk that the states of a thread take, as they are stored: long ones are compressed, and are not read for this.
 * @throws PublicError `not_found`
 */
export async function measureThread(scope: Scope, sql: Sql, threadId: string): Promise<number> {
  const sums = TABLES.map(
    ([table, bytes]) => `(SELECT coalesce(sum(${bytes} + ${BYTES_OF_ROW}), 0)::float8
      FROM agentplane.${table} o WHERE o.thread_id = t.thread_id::text)`,
  );
  const { rows } = await sql.inScope<{ bytes: number }>(scope, {
    scans: 'Measuring the thread',
    text: `SELECT coalesce(pg_column_size(t.values), 0) + ${sums.join(' + ')} AS bytes
      FROM agentplane.threads t WHERE t.thread_id = $2::uuid AND ${visible('t.metadata')}`,
    values: [threadId],
  });
  if (!rows[0]) throw threadNotFound(threadId);
  return rows[0].bytes;
}

/** A thread that a caller wants to see. */
export interface ThreadQuestion {
  readonly scope: Scope;
  readonly threadId: string;
}

/**
 * Reads threads of several callers in one statement, each under its own scope.
 * @returns JSON text in the order of the questions; undefined for a thread that is missing or not visible,
 *   `large` for one that must be read alone
 */
export async function readThreads(
  scope: WorkerScope,
  sql: Sql,
  questions: readonly ThreadQuestion[],
): Promise<(string | 'large' | undefined)[]> {
  const { rows } = await sql.asWorker<{ place: string; thread: string | null }>(scope, {
    name: 'read-threads',
    text: 'SELECT place, thread FROM agentplane.read_threads($1, $2)',
    values: [
      questions.map(({ threadId }) => threadId),
      questions.map((question) => visibleTo(question.scope)),
    ],
  });
  const found = new Map(rows.map(({ place, thread }) => [Number(place) - 1, thread ?? 'large']));
  return questions.map((_question, place) => found.get(place));
}
