import { Batch } from '../batch.js';
import { threadNotFound } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { WORKER } from '../worker-scope.js';
import { getThread } from './get-thread.js';
import { readThreads, type ThreadQuestion } from './read-threads.js';

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
