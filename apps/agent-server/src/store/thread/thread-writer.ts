import type { JsonObject } from '#lib/json';
import { Batch, inCompany } from '../batch.js';
import { jsonText } from '../json-text.js';
import { threadNotFound } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { WORKER } from '../worker-scope.js';
import {
  createThread,
  createThreads,
  type NewThread,
  removeThread,
  removeThreads,
  type ThreadRemoval,
} from './change-thread.js';
import { getThread, readThreads, type ThreadQuestion } from './threads.js';

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
