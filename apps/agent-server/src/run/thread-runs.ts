import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';
import { Batch, inCompany } from '../store/batch.js';
import type { Acceptance, ClaimedRun, RunEnd, ServerIdentity } from '../store/row/claimed-run.js';
import {
  type QueuedRun,
  type Queueing,
  ThreadSubmission,
  TemporaryRow,
  type TemporarySubmission,
  type StoredRun,
} from '../store/row/run-row.js';
import {
  finishRun,
  finishRuns,
  type ThreadEnd,
  type CalledEnd,
  endCalledRun,
  endTemporaryRuns,
  type TemporaryEnd,
} from '../store/statement/finish-run.js';
import { submitRun, submitRuns, submitTemporaryRuns } from '../store/statement/submit-run.js';
import type { Scope } from '../store/scope.js';
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

/** Runs without a thread, which come and go in great numbers: many share one statement. */
export class TemporaryRuns {
  readonly #submissions: Batch<TemporaryRow, QueuedRun>;
  readonly #ends: Batch<TemporaryEnd, Acceptance>;

  constructor(
    private readonly sql: Sql,
    private readonly server: ServerIdentity,
    private readonly clock: Clock,
  ) {
    const submit = (submissions: readonly TemporaryRow[]) => this.#insert(sql, submissions);
    this.#submissions = new Batch(submit, {
      maxBytes: MAX_STATEMENT_BYTES,
      bytesOf: ({ text }) => text.length,
    });
    this.#ends = new Batch<TemporaryEnd, Acceptance>(async (ends) => {
      const ended = await endTemporaryRuns(WORKER, sql, ends);
      return ({ run: { runId } }) => ({ isAccepted: ended.has(runId), hasNext: false });
    });
  }

  /** @throws PublicError `forbidden` when its metadata is outside of the scope */
  submit(submission: TemporarySubmission): Promise<QueuedRun> {
    const row = new TemporaryRow(submission);
    if (row.text.length <= LARGE_CHARS) return this.#submissions.add(row);
    return this.sql.transaction(submission.scope, async (inside) => (await this.#insert(inside, [row]))(row));
  }

  /**
   * Makes runs in a transaction of the caller.
   * @throws PublicError `forbidden` when the metadata of one is outside of its scope
   */
  async submitAll(
    inside: Sql,
    submissions: readonly TemporarySubmission[],
  ): Promise<ReadonlyMap<string, QueuedRun>> {
    const queued = new Map<string, QueuedRun>();
    let rows: TemporaryRow[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      const outcomeOf = await this.#insert(inside, rows);
      for (const row of rows) queued.set(row.submission.run.runId, outcomeOf(row));
      [rows, bytes] = [[], 0];
    };
    for (const submission of submissions) {
      const row = new TemporaryRow(submission);
      if (rows.length > 0 && bytes + row.text.length > MAX_STATEMENT_BYTES) await flush();
      rows.push(row);
      bytes += row.text.length;
    }
    if (rows.length > 0) await flush();
    return queued;
  }

  /** @returns the outcome of each; throws for one whose metadata is outside of its scope */
  async #insert(sql: Sql, submissions: readonly TemporaryRow[]): Promise<(row: TemporaryRow) => QueuedRun> {
    const made = await submitTemporaryRuns(WORKER, sql, this.server, submissions);
    const createdAt = this.clock.now();
    return ({ submission: { run, queueing } }) => {
      const { runId } = run;
      if (made.has(runId)) return { status: queueing.startsHere ? 'running' : 'pending', createdAt };
      throw new PublicError('forbidden', `Run ${runId}: its metadata is outside what this caller may access`);
    };
  }

  /** Ends a run; refused from an old attempt. One with a webhook has a separate statement. */
  async end(ended: CalledEnd): Promise<Acceptance> {
    if (ended.run.webhook === undefined) return this.#ends.add(ended);
    return { isAccepted: await endCalledRun(WORKER, this.sql, ended), hasNext: false };
  }
}
