import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText, jsonText, fitsRow, requireFit } from '../json-text.js';
import { type Scope, type WorkerScope, visible, visibleTo } from '../scope.js';
import type { Sql } from '../sql.js';
import { ancestorWalk, WITHOUT_VALUE } from '../row/checkpoint-place.js';
import {
  THREAD_TEXT,
  threadNotFound,
  type ThreadText,
  type ThreadTextRow,
  type ThreadTtl,
} from '../row/thread-row.js';
import {
  setThreadTtl,
  findThread,
  getThreadHead,
  getThread,
  readThreads,
  type ThreadQuestion,
} from './threads.js';
import { Batch, inCompany } from '../batch.js';
import { WORKER } from '../worker-scope.js';

/**
 * Checks whether the scope is the reason that a row was not written: a caller must be able to see every row
 * that it writes.
 * @param what the object for the message, as in `Thread 1234`
 * @throws PublicError `forbidden`
 */
export async function requireAdmitted(
  scope: Scope,
  sql: Sql,
  metadata: JsonObject,
  what: string,
): Promise<void> {
  const { rows } = await sql.inScope<{ admitted: boolean }>(scope, {
    text: `SELECT ${visible('$2::jsonb')} AS admitted`,
    values: [jsonbText(metadata)],
  });
  if (!rows[0]?.admitted)
    throw new PublicError('forbidden', `${what}: its metadata is outside what this caller may access`);
}

/**
 * Keeps runs from beginning on the thread until the transaction ends.
 * @throws PublicError `not_found`
 */
export async function lockThread(scope: Scope, sql: Sql, threadId: string): Promise<void> {
  const { rows } = await sql.inScope(scope, {
    text: `SELECT thread_id FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')} FOR UPDATE`,
    values: [threadId],
  });
  if (!rows[0]) throw threadNotFound(threadId);
}

/**
 * @param ttl its lifetime, if it is made by this; an existing one keeps its own
 * @throws PublicError `conflict` when the id is taken and the caller did not ask for the existing thread, or
 *   may not see it; `forbidden` for metadata outside of the scope
 */
export async function createThread(
  scope: Scope,
  sql: Sql,
  threadId: string,
  metadata: JsonObject,
  ifExists: 'raise' | 'do_nothing',
  ttl?: ThreadTtl,
): Promise<ThreadText> {
  const create = async (inside: Sql): Promise<ThreadText> => {
    const { rows } = await inside.inScope<ThreadTextRow>(scope, {
      name: 'create-thread',
      text: `INSERT INTO agentplane.threads (thread_id, metadata)
        SELECT $2::uuid, $3::jsonb WHERE ${visible('$3::jsonb')}
        ON CONFLICT DO NOTHING RETURNING ${THREAD_TEXT}`,
      values: [threadId, jsonbText(metadata)],
      locks: threadId,
    });
    if (rows[0]) {
      if (ttl) await setThreadTtl(scope, inside, threadId, ttl);
      return rows[0].thread;
    }
    await requireAdmitted(scope, inside, metadata, `Thread ${threadId}`);
    const existing = ifExists === 'do_nothing' ? await findThread(scope, inside, threadId) : undefined;
    if (existing === undefined) throw new PublicError('conflict', `Thread ${threadId} exists already`);
    return existing;
  };
  return ttl ? sql.transaction(scope, create, { locks: threadId }) : create(sql);
}

/** A thread under an id that was just made: nothing else can bear it. */
interface NewThread {
  readonly scope: Scope;
  readonly threadId: string;
  readonly metadata: JsonObject;
}

/**
 * Creates threads of several callers in one statement, each under its own scope.
 * @returns those created by their ids, as JSON text; the metadata of the others is outside of their scopes
 */
async function createThreads(
  scope: WorkerScope,
  sql: Sql,
  threads: readonly NewThread[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql.asWorker<{ created: string; thread: string }>(scope, {
    name: 'create-threads',
    text: 'SELECT created, thread FROM agentplane.create_threads($1, $2, $3)',
    values: [
      threads.map(({ threadId }) => threadId),
      threads.map(({ metadata }) => jsonbText(metadata)),
      threads.map((thread) => visibleTo(thread.scope)),
    ],
  });
  return new Map(rows.map(({ created, thread }) => [created, thread]));
}

/** Tables of a thread's state, with the columns that a copy takes over as they are. */
const STATE = [
  ['checkpoint_blobs', 'checkpoint_ns, channel, version, type, blob'],
  ['checkpoint_writes', 'checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path'],
] as const;

/**
 * Makes a thread with the state of another and its own metadata, as one statement sees it: a run in progress
 * writes only to the first. The runs stay with the first; so do the ids of their writes, so that a rollback
 * there finds nothing here.
 * @throws PublicError `not_found`
 */
export async function copyThread(
  scope: Scope,
  sql: Sql,
  threadId: string,
  copy: { readonly thread_id: string; readonly metadata: JsonObject },
): Promise<ThreadText> {
  const from = `FROM agentplane.threads t JOIN`;
  const ofThread = `WHERE t.thread_id = $2::uuid AND ${visible('t.metadata')}`;
  const copies = STATE.map(
    ([table, columns]) => `${table}_copied AS (
        INSERT INTO agentplane.${table} (thread_id, ${columns})
        SELECT $3::text, ${columns.replace(/(\w+)/g, 'o.$1')} ${from} agentplane.${table} o ON o.thread_id = t.thread_id::text ${ofThread})`,
  );
  const { rows } = await sql.inScope<ThreadTextRow>(scope, {
    scans: 'Copying the thread', // all its states may be gigabytes
    copies: true,
    text: `WITH ${copies.join(', ')}, checkpoints_copied AS (
        INSERT INTO agentplane.checkpoints
          (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
        SELECT $3::text, o.checkpoint_ns, o.checkpoint_id, o.parent_checkpoint_id, o.type, o.checkpoint,
          o.metadata || CASE WHEN o.metadata ? 'thread_id' THEN jsonb_build_object('thread_id', $3::text) ELSE '{}' END
        ${from} agentplane.checkpoints o ON o.thread_id = t.thread_id::text ${ofThread})
      INSERT INTO agentplane.threads
        (thread_id, metadata, status, resting_status, config, values, interrupts, error, state_updated_at)
      SELECT $3::text::uuid, $4::jsonb, CASE t.status WHEN 'busy' THEN t.resting_status ELSE t.status END,
        t.resting_status, t.config, t.values, t.interrupts, t.error, t.state_updated_at
      FROM agentplane.threads t ${ofThread} RETURNING ${THREAD_TEXT}`,
    values: [threadId, copy.thread_id, jsonbText(copy.metadata)],
  });
  if (!rows[0]) throw threadNotFound(threadId);
  return rows[0].thread;
}

/**
 * Merges metadata.
 * @throws PublicError `not_found`; `forbidden` when the thread would leave the scope; `too_large`
 */
export async function patchThread(
  scope: Scope,
  sql: Sql,
  threadId: string,
  metadata: JsonObject,
): Promise<ThreadText> {
  const { rows } = await sql.inScope<ThreadTextRow>(scope, {
    text: `UPDATE agentplane.threads SET metadata = metadata || $3::jsonb, updated_at = clock_timestamp()
      WHERE thread_id = $2 AND ${visible('metadata')} AND ${visible('(metadata || $3::jsonb)')}
        AND ${fitsRow('metadata || $3::jsonb')}
      RETURNING ${THREAD_TEXT}`,
    values: [threadId, jsonbText(metadata)],
    locks: threadId,
  });
  if (rows[0]) return rows[0].thread;
  const before = await getThreadHead(scope, sql, threadId);
  const merged = { ...before.metadata, ...metadata };
  await requireAdmitted(scope, sql, merged, `Thread ${threadId}`);
  requireFit(merged, `Thread ${threadId}`);
  throw new PublicError('conflict', `Thread ${threadId} was changed at the same time; retry`);
}

/** A state after a change from outside of its runs. */
export interface ChangedState {
  /** JSON text. */
  readonly values: string;
  readonly status: 'idle' | 'interrupted';
  /** JSON text of lists of questions, by the tasks that ask. */
  readonly interrupts: string;
}

/** Shows a changed state in the thread's own row. */
export async function setThreadState(
  scope: Scope,
  sql: Sql,
  threadId: string,
  state: ChangedState,
): Promise<void> {
  await sql.inScope(scope, {
    text: `UPDATE agentplane.threads SET values = $3, status = $4, resting_status = $4, interrupts = $5, error = NULL,
      updated_at = clock_timestamp(), state_updated_at = clock_timestamp()
      WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId, state.values, state.status, state.interrupts],
  });
}

const OF_THREAD = `o.thread_id = $2::text
  AND EXISTS (SELECT 1 FROM agentplane.threads t WHERE t.thread_id = $2::text::uuid AND ${visible('t.metadata')})`;

const LATEST = `c.thread_id = $2::text AND c.checkpoint_id = (SELECT max(l.checkpoint_id) FROM agentplane.checkpoints l
  WHERE l.thread_id = c.thread_id AND l.checkpoint_ns = c.checkpoint_ns)`;

/**
 * Channels that are empty in a checkpoint are mostly consumed ones. A delta channel counts its changes in the metadata
 * of checkpoints, and a write to it makes a version without a value; that of any other channel makes one with a value.
 */
const DELTAS = `deltas AS (
  SELECT w.checkpoint_ns, array_agg(DISTINCT k) AS channels FROM walk w, unnest(w.wanted || w.missing) k
  WHERE w.counters ? k OR (k = ANY (w.wanted) AND w.versions ->> k IS DISTINCT FROM w.next_versions ->> k
    AND EXISTS (SELECT 1 FROM agentplane.checkpoint_writes x WHERE x.thread_id = w.thread_id
      AND x.checkpoint_ns = w.checkpoint_ns AND x.checkpoint_id = w.checkpoint_id AND x.channel = k))
  GROUP BY w.checkpoint_ns)`;

const KEPT = `kept AS MATERIALIZED (
  SELECT w.checkpoint_ns, w.checkpoint_id, w.versions FROM walk w LEFT JOIN deltas d USING (checkpoint_ns)
  WHERE w.depth = 0 OR w.wanted && d.channels)`;

const PRUNE = `WITH RECURSIVE ${ancestorWalk(LATEST, WITHOUT_VALUE)}, ${DELTAS}, ${KEPT}, writes AS (
  DELETE FROM agentplane.checkpoint_writes o WHERE ${OF_THREAD}
    AND (o.checkpoint_ns, o.checkpoint_id) NOT IN (SELECT checkpoint_ns, checkpoint_id FROM kept)
), blobs AS (
  DELETE FROM agentplane.checkpoint_blobs o WHERE ${OF_THREAD}
    AND (o.checkpoint_ns, o.channel, o.version) NOT IN
      (SELECT k.checkpoint_ns, v.key, v.value FROM kept k, jsonb_each_text(k.versions) v))
DELETE FROM agentplane.checkpoints o WHERE ${OF_THREAD}
  AND (o.checkpoint_ns, o.checkpoint_id) NOT IN (SELECT checkpoint_ns, checkpoint_id FROM kept)`;

/**
 * Leaves a thread the last checkpoint of each of its graphs, and the ancestors that the values of its delta
 * channels are made of. The thread must be locked, and have no run in progress.
 * @returns true when there were older ones
 */
export async function pruneThread(scope: Scope, sql: Sql, threadId: string): Promise<boolean> {
  return (await sql.inScope(scope, { text: PRUNE, values: [threadId] })).rowCount !== 0;
}

/**
 * Removes a thread with its runs and its state; a run in progress loses its row and is thereby fenced.
 * @throws PublicError `not_found`
 */
export async function removeThread(scope: Scope, sql: Sql, threadId: string): Promise<void> {
  const { rows } = await sql.inScope<{ removed: boolean }>(scope, {
    name: 'remove-thread',
    text: 'SELECT removed FROM agentplane.remove_thread($1::jsonb[], $2)',
    values: [threadId],
    locks: threadId,
    takesTurn: true,
  });
  if (!rows[0]?.removed) throw threadNotFound(threadId);
}

/** A thread that a caller wants removed. */
interface ThreadRemoval {
  readonly scope: Scope;
  readonly threadId: string;
}

/**
 * Removes threads of several callers in one statement, each under its own scope.
 * @returns the ids of those removed; the others must be removed one by one
 */
export async function removeThreads(
  scope: WorkerScope,
  sql: Sql,
  removals: readonly ThreadRemoval[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql.asWorker<{ removed: string }>(scope, {
    name: 'remove-threads',
    text: 'SELECT removed FROM agentplane.remove_threads($1, $2)',
    values: [removals.map(({ threadId }) => threadId), removals.map((removal) => visibleTo(removal.scope))],
  });
  return new Set(rows.map(({ removed }) => removed));
}

/**
 * Reads threads as JSON text: questions that come in while a statement is in flight share the next one. A
 * large thread is read alone, after those before it.
 */
export class ThreadReader {
  readonly #reads: Batch<ThreadQuestion, string | undefined>;

  constructor(private readonly sql: Sql) {
    this.#reads = new Batch(async (questions) => {
      const texts = await readThreads(WORKER, sql, questions);
      const answers = new Map(questions.map((question, at) => [question, texts[at]]));
      return (question) => answers.get(question);
    });
  }

  /** @throws PublicError `not_found` */
  async read(scope: Scope, threadId: string): Promise<string> {
    const text = await this.#reads.add({ scope, threadId });
    if (text === undefined) throw threadNotFound(threadId);
    return text === 'large' ? this.sql.lookInto(scope, () => getThread(scope, this.sql, threadId)) : text;
  }
}

/** Limit per statement. */
const MAX_STATEMENT_BYTES = 4 * 1024 * 1024;

/** Removals of one statement: each may have some state. */
const MAX_REMOVALS = 16;

/**
 * Creates and removes threads: requests that come in while a statement is in flight share the next one and
 * its commit. A request that it leaves out goes alone, where it waits for the holder of the thread and fails
 * by itself.
 */
export class ThreadWriter {
  readonly #creations: Batch<NewThread, string | undefined>;
  readonly #removals: Batch<ThreadRemoval, boolean>;

  constructor(private readonly sql: Sql) {
    this.#creations = new Batch(
      async (threads) => {
        const created = await inCompany(threads, () => createThreads(WORKER, sql, threads), new Map());
        return ({ threadId }) => created.get(threadId);
      },
      { maxBytes: MAX_STATEMENT_BYTES, bytesOf: ({ metadata }) => jsonText(metadata).length },
    );
    this.#removals = new Batch((removals) => this.#removeAll(removals), { maxItems: MAX_REMOVALS });
  }

  /**
   * @param threadId just made: of a thread that cannot exist
   * @returns the thread as JSON text
   * @throws PublicError `forbidden` for metadata outside of the scope
   */
  async create(scope: Scope, threadId: string, metadata: JsonObject): Promise<string> {
    const created = await this.#creations.add({ scope, threadId, metadata });
    return created ?? createThread(scope, this.sql, threadId, metadata, 'raise');
  }

  /**
   * Removes a thread with its runs and its state; a run in progress loses its row and is thereby fenced.
   * @throws PublicError `not_found`
   */
  async remove(scope: Scope, threadId: string): Promise<void> {
    const isRemoved = await this.#removals.add({ scope, threadId });
    if (!isRemoved) await removeThread(scope, this.sql, threadId);
  }

  async #removeAll(removals: readonly ThreadRemoval[]): Promise<(removal: ThreadRemoval) => boolean> {
    const threads = new Set<string>();
    const together = removals.filter(
      // statements that already wait for a thread come first
      ({ threadId }) => !this.sql.isTurnTaken(threadId) && !threads.has(threadId) && threads.add(threadId),
    );
    const removed = await inCompany(together, () => removeThreads(WORKER, this.sql, together), new Set());
    return (removal) => together.includes(removal) && removed.has(removal.threadId);
  }
}
