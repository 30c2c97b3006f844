import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';
import { Batch } from '../store/batch.js';
import { type QueuedRun, TemporaryRow, type TemporarySubmission } from '../store/row/submission.js';
import type { Acceptance } from '../store/row/claimed-run.js';
import {
  type CalledEnd,
  endCalledRun,
  endTemporaryRuns,
  type TemporaryEnd,
} from '../store/run/finish-run.js';
import { submitTemporaryRuns } from '../store/run/submit-run.js';
import type { ServerIdentity } from '../store/server-identity.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

/** Limit per statement: inputs are whole conversations. */
const MAX_STATEMENT_BYTES = 4 * 1024 * 1024;

/**
 * Size above which a run goes alone: one caller's large runs would delay the others in the statements they
 * share.
 */
const LARGE_CHARS = 256 * 1024;

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
