import { Batch, inCompany } from '../store/batch.js';
import type { Acceptance, ClaimedRun, RunEnd } from '../store/row/claimed-run.js';
import { type QueuedRun, type Queueing, ThreadSubmission } from '../store/row/submission.js';
import type { StoredRun } from '../store/row/stored-run.js';
import { finishRun, finishRuns, type ThreadEnd } from '../store/run/finish-run.js';
import { submitRun, submitRuns } from '../store/run/submit-run.js';
import type { Scope } from '../store/scope.js';
import type { ServerIdentity } from '../store/server-identity.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

/** Limit per statement: inputs and values are whole conversations. */
const MAX_STATEMENT_BYTES = 4 * 1024 * 1024;

/**
 * Size above which a run goes alone: one caller's large runs would delay the others in the statements they
 * share.
 */
const LARGE_CHARS = 256 * 1024;

/**
 * Runs on threads: those that come in while a statement is in flight share the next one and its commit. Such
 * a statement waits for no other transaction; a run that it leaves out is submitted alone, where it waits for
 * the holder of its thread and fails by itself.
 */
export class ThreadRuns {
  readonly #submissions: Batch<ThreadSubmission, QueuedRun | undefined>;
  readonly #ends: Batch<ThreadEnd, Acceptance | undefined>;

  constructor(
    private readonly sql: Sql,
    private readonly server: ServerIdentity,
  ) {
    this.#submissions = new Batch((submissions) => this.#submitAll(submissions), {
      maxBytes: MAX_STATEMENT_BYTES,
      bytesOf: ({ length }) => length,
    });
    this.#ends = new Batch((ends) => this.#endAll(ends), {
      maxBytes: MAX_STATEMENT_BYTES,
      bytesOf: ({ end }) => end.values?.length ?? 0,
    });
  }

  /** @throws PublicError as of `submitRun` */
  async submit(scope: Scope, run: StoredRun, queueing: Queueing): Promise<QueuedRun> {
    const submission = new ThreadSubmission(scope, run, queueing);
    const together = this.#goesTogether(submission) && (await this.#submissions.add(submission));
    return together || submitRun(scope, this.sql, this.server, run, queueing, submission.kwargs);
  }

  /** Ends a run; refused from an old attempt. */
  async end(run: ClaimedRun, end: RunEnd): Promise<Acceptance> {
    const isSmall = (end.values?.length ?? 0) <= LARGE_CHARS;
    const together =
      isSmall && !run.webhook && end.isRollback !== true && (await this.#ends.add({ run, end }));
    return together || finishRun(WORKER, this.sql, run, end);
  }

  #goesTogether({ run, queueing, kwargs }: ThreadSubmission): boolean {
    if (queueing.newThread !== undefined) return false;
    // behind earlier ones
    const follows = (): boolean =>
      this.#submissions.hasWaiting((other) => other.run.threadId === run.threadId);
    return kwargs.length <= LARGE_CHARS || follows();
  }

  async #submitAll(
    submissions: readonly ThreadSubmission[],
  ): Promise<(submission: ThreadSubmission) => QueuedRun | undefined> {
    // statements that already wait for a thread come first
    const free = submissions.filter(({ run }) => !this.sql.isTurnTaken(run.threadId));
    const together = onePerThread(free);
    const made = await inCompany(
      together,
      () => submitRuns(WORKER, this.sql, this.server, together),
      new Map(),
    );
    return (submission) => (together.includes(submission) ? made.get(submission.run.runId) : undefined);
  }

  async #endAll(ends: readonly ThreadEnd[]): Promise<(end: ThreadEnd) => Acceptance | undefined> {
    const together = onePerThread(ends);
    const ended = await inCompany(together, () => finishRuns(WORKER, this.sql, together), new Map());
    return (end) => (together.includes(end) ? ended.get(end.run.runId) : undefined);
  }
}

/** The first of each thread. */
function onePerThread<T extends { readonly run: Pick<StoredRun, 'threadId'> }>(
  items: readonly T[],
): readonly T[] {
  const threads = new Set<string>();
  return items.filter(({ run }) => !threads.has(run.threadId) && threads.add(run.threadId));
}
