import type { QueuedRun } from '../row/queued-run.js';
import type { ThreadSubmission } from '../row/thread-submission.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';
import { visibleTo } from '../visible-to.js';

interface Submitted {
  readonly new_run: string;
  readonly new_status: QueuedRun['status'];
  readonly made_at: Date;
  readonly is_empty: boolean;
}

/**
 * Makes runs of several callers on existing threads, one on each thread, every one under its own scope.
 * @returns the outcome of each by its id; missing ones must be made one by one
 */
export async function submitRuns(
  scope: WorkerScope,
  sql: Sql,
  { serverId, leaseMs }: ServerIdentity,
  submissions: readonly ThreadSubmission[],
): Promise<ReadonlyMap<string, QueuedRun>> {
  const { rows } = await sql.asWorker<Submitted>(scope, {
    name: 'submit-runs',
    text: `SELECT new_run, new_status, made_at, is_empty
      FROM agentplane.submit_runs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    values: [
      submissions.map(({ run }) => run.runId),
      submissions.map(({ run }) => run.threadId),
      submissions.map((submission) => visibleTo(submission.scope)),
      submissions.map(({ run }) => run.assistantId),
      submissions.map(({ run }) => run.graphId),
      submissions.map(({ metadata }) => metadata),
      submissions.map(({ kwargs }) => kwargs),
      submissions.map(({ outline }) => outline),
      submissions.map(({ queueing }) => queueing.strategy),
      submissions.map(({ queueing }) => queueing.delayMs),
      submissions.map(({ queueing }) => queueing.startsHere),
      submissions.map(({ queueing }) => (queueing.isWatched ? serverId : null)),
      serverId,
      leaseMs,
    ],
  });
  return new Map(
    rows.map((row) => [
      row.new_run,
      { status: row.new_status, createdAt: row.made_at, isThreadEmpty: row.is_empty },
    ]),
  );
}
