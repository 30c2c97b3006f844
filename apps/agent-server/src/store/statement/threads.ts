import type { JsonObject } from '#lib/json';
import { boundedPage, smallText } from '../json-text.js';
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
  type ThreadTtl,
  type WireThreadTtl,
} from '../row/thread-row.js';
import type { RunPriority } from '../row/run-row.js';
import { type Scope, type WorkerScope, visible, visibleTo } from '../scope.js';
import type { Sql } from '../sql.js';

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

/** A thread whose run gets a priority. */
export interface ThreadPriority extends Pick<ThreadHead, 'metadata'> {
  /** Null until its first run got one. */
  readonly priority: RunPriority | null;
}

/**
 * The priority that a thread keeps.
 * @param assigned is kept where it has none
 */
export async function findThreadPriority(
  scope: Scope,
  sql: Sql,
  threadId: string,
  assigned?: RunPriority,
): Promise<ThreadPriority | undefined> {
  const { rows } = await sql.inScope<ThreadPriority>(scope, {
    text:
      assigned === undefined
        ? `SELECT metadata, priority FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`
        : `UPDATE agentplane.threads SET priority = coalesce(priority, $3) WHERE thread_id = $2 AND ${visible('metadata')}
           RETURNING metadata, priority`,
    values: assigned === undefined ? [threadId] : [threadId, JSON.stringify(assigned)],
  });
  return rows[0];
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

interface Stored {
  readonly count: number;
  readonly bytes: number;
}

/** Bytes that the states of a thread take in the database, as they are stored: long ones are compressed. */
export interface ThreadStorage {
  readonly thread_id: string;
  readonly total_bytes: number;
  readonly checkpoints: Stored;
  readonly channel_values: Stored & {
    readonly by_channel: Readonly<Record<string, { readonly versions: number; readonly bytes: number }>>;
  };
  /** Results of tasks; those of earlier steps are kept with their checkpoints. */
  readonly pending_writes: Stored;
}

const sums = (bytes: string): string =>
  `json_build_object('count', count(*), 'bytes', coalesce(sum(${bytes}), 0))`;

const OF_THREAD = 'WHERE o.thread_id = t.thread_id::text';

/** @throws PublicError `not_found` */
export async function findThreadStorage(scope: Scope, sql: Sql, threadId: string): Promise<ThreadStorage> {
  const { rows } = await sql.inScope<Omit<ThreadStorage, 'total_bytes'>>(scope, {
    scans: 'Measuring the thread',
    text: `SELECT t.thread_id,
        (SELECT ${sums('pg_column_size(o.checkpoint) + pg_column_size(o.metadata)')}
          FROM agentplane.checkpoints o ${OF_THREAD}) AS checkpoints,
        (SELECT json_build_object('count', coalesce(sum(c.versions), 0), 'bytes', coalesce(sum(c.bytes), 0),
            'by_channel', coalesce(json_object_agg(c.channel, json_build_object('versions', c.versions, 'bytes', c.bytes)), '{}'))
          FROM (SELECT o.channel, count(*) AS versions, coalesce(sum(pg_column_size(o.blob)), 0) AS bytes
            FROM agentplane.checkpoint_blobs o ${OF_THREAD} GROUP BY o.channel) c) AS channel_values,
        (SELECT ${sums('pg_column_size(o.blob)')} FROM agentplane.checkpoint_writes o ${OF_THREAD}) AS pending_writes
      FROM agentplane.threads t WHERE t.thread_id = $2::uuid AND ${visible('t.metadata')}`,
    values: [threadId],
  });
  const [row] = rows;
  if (!row) throw threadNotFound(threadId);
  const { thread_id, ...parts } = row;
  const { checkpoints, channel_values: values, pending_writes: writes } = parts;
  return { thread_id, total_bytes: checkpoints.bytes + values.bytes + writes.bytes, ...parts };
}

interface TtlRow extends ThreadTtl {
  readonly expires_at: Date;
}

/** Undefined for a thread that never expires. */
export async function findThreadTtl(
  scope: Scope,
  sql: Sql,
  threadId: string,
): Promise<WireThreadTtl | undefined> {
  const { rows } = await sql.inScope<TtlRow>(scope, {
    text: `SELECT x.strategy, x.minutes, t.updated_at + x.minutes * interval '1 minute' AS expires_at
      FROM agentplane.thread_ttls x JOIN agentplane.threads t ON t.thread_id = x.thread_id
      WHERE x.thread_id = $2 AND ${visible('t.metadata')}`,
    values: [threadId],
  });
  const [row] = rows;
  return (
    row && { strategy: row.strategy, ttl_minutes: row.minutes, expires_at: row.expires_at.toISOString() }
  );
}

const SET = `
INSERT INTO agentplane.thread_ttls (thread_id, strategy, minutes, check_at)
SELECT t.thread_id, $3::text, $4::float8, t.updated_at + $4::float8 * interval '1 minute'
FROM agentplane.threads t WHERE t.thread_id = $2 AND ${visible('t.metadata')}
ON CONFLICT (thread_id) DO UPDATE SET strategy = EXCLUDED.strategy, minutes = EXCLUDED.minutes,
  check_at = EXCLUDED.check_at`;

/** Answers true when there is such a thread. */
export async function setThreadTtl(
  scope: Scope,
  sql: Sql,
  threadId: string,
  { strategy, minutes }: ThreadTtl,
): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, { text: SET, values: [threadId, strategy, minutes] });
  return rowCount === 1;
}

/** Lifetime of threads made from now on that ask for none; undefined: they never expire. */
export async function setDefaultTtl(scope: WorkerScope, sql: Sql, ttl: ThreadTtl | undefined): Promise<void> {
  await sql.asWorker(
    scope,
    ttl
      ? {
          text: `INSERT INTO agentplane.thread_ttl_default (strategy, minutes) VALUES ($1, $2)
            ON CONFLICT (only_row) DO UPDATE SET strategy = EXCLUDED.strategy, minutes = EXCLUDED.minutes`,
          values: [ttl.strategy, ttl.minutes],
        }
      : { text: 'DELETE FROM agentplane.thread_ttl_default' },
  );
}

/** Schedules the next check of a pruned thread one lifetime later, after a minute at least. */
export async function restThreadTtl(scope: WorkerScope, sql: Sql, threadId: string): Promise<void> {
  await sql.asWorker(scope, {
    text: `UPDATE agentplane.thread_ttls
      SET check_at = clock_timestamp() + greatest(minutes, 1) * interval '1 minute' WHERE thread_id = $1`,
    values: [threadId],
  });
}

/** An expired thread. */
export interface ExpiredThread {
  readonly threadId: string;
  readonly strategy: ThreadTtl['strategy'];
}

interface ExpiredRow {
  readonly thread_id: string;
  readonly strategy: ThreadTtl['strategy'];
  readonly is_expired: boolean;
}

/** Each is checked again when it may expire next, and after a minute when a server dies in the middle. */
const CLAIM = `
WITH due AS (
  SELECT x.thread_id FROM agentplane.thread_ttls x WHERE x.check_at <= clock_timestamp()
  ORDER BY x.check_at LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE agentplane.thread_ttls x
SET check_at = greatest(t.updated_at + x.minutes * interval '1 minute', clock_timestamp() + interval '1 minute')
FROM due JOIN agentplane.threads t ON t.thread_id = due.thread_id WHERE x.thread_id = due.thread_id
RETURNING x.thread_id, x.strategy,
  t.updated_at + x.minutes * interval '1 minute' <= clock_timestamp() AS is_expired`;

/** Checks up to `limit` threads that may have expired. @returns their number, and the expired ones */
export async function claimExpiredThreads(
  scope: WorkerScope,
  sql: Sql,
  limit: number,
): Promise<{ readonly seen: number; readonly expired: readonly ExpiredThread[] }> {
  const { rows } = await sql.asWorker<ExpiredRow>(scope, { text: CLAIM, values: [limit] });
  const expired = rows
    .filter((row) => row.is_expired)
    .map((row) => ({ threadId: row.thread_id, strategy: row.strategy }));
  return { seen: rows.length, expired };
}
