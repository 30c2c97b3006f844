import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';
import { Batch } from '../store/batch.js';
import type { ClaimedRun } from '../store/row/claimed-run.js';
import type { QueuedRun } from '../store/row/queued-run.js';
import type { Acceptance, RunEnd } from '../store/row/run-end.js';
import { endCalledRun } from '../store/run/end-called-run.js';
import { removeTemporaryRuns } from '../store/run/remove-temporary-runs.js';
import { submitTemporaryRuns, type TemporarySubmission } from '../store/run/submit-temporary-runs.js';
import type { ServerIdentity } from '../store/server-identity.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

/** Runs without a thread, which come and go in great numbers: many share one statement. */
export class TemporaryRuns {
  readonly #submissions: Batch<TemporarySubmission, QueuedRun>;
  readonly #removals: Batch<ClaimedRun, Acceptance>;

  constructor(
    private readonly sql: Sql,
    server: ServerIdentity,
    clock: Clock,
  ) {
    this.#submissions = new Batch<TemporarySubmission, QueuedRun>(async (submissions) => {
      const made = await submitTemporaryRuns(WORKER, sql, server, submissions);
      const createdAt = clock.now();
      return ({ run: { runId }, queueing }) => {
        if (made.has(runId)) return { status: queueing.startsHere ? 'running' : 'pending', createdAt };
        throw new PublicError(
          'forbidden',
          `Run ${runId}: its metadata is outside what this caller may access`,
        );
      };
    });
    this.#removals = new Batch<ClaimedRun, Acceptance>(async (runs) => {
      const removed = await removeTemporaryRuns(WORKER, sql, runs);
      return ({ runId }) => ({ isAccepted: removed.has(runId), hasNext: false });
    });
  }

  /** @throws PublicError `forbidden` when its metadata is outside of the scope */
  submit(submission: TemporarySubmission): Promise<QueuedRun> {
    return this.#submissions.add(submission);
  }

  /** Ends a run; refused from an old attempt. One with a webhook has a statement of its own. */
  async end(run: ClaimedRun, end: RunEnd): Promise<Acceptance> {
    if (!run.kwargs.webhook) return this.#removals.add(run);
    return { isAccepted: await endCalledRun(WORKER, this.sql, run, end), hasNext: false };
  }
}
