import { jsonText } from '../json-text.js';
import type { ClaimedRun } from '../row/claimed-run.js';
import type { Acceptance, RunEnd } from '../row/run-end.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The end of a run on a thread. */
export interface ThreadEnd {
  readonly run: ClaimedRun;
  readonly end: RunEnd;
}

interface Finished {
  readonly ended_run: string;
  readonly accepted: boolean;
  readonly has_next: boolean;
}

/**
 * Ends runs on threads, one for each thread, none of which is rolled back or has a webhook.
 * @returns the outcome of each by its id; missing ones must be ended one by one
 */
export async function finishRuns(
  scope: WorkerScope,
  sql: Sql,
  ends: readonly ThreadEnd[],
): Promise<ReadonlyMap<string, Acceptance>> {
  const { rows } = await sql.asWorker<Finished>(scope, {
    name: 'finish-runs',
    text: `SELECT ended_run, accepted, has_next
      FROM agentplane.finish_runs($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      ends.map(({ run }) => run.runId),
      ends.map(({ run }) => run.attempt),
      ends.map(({ run }) => run.threadId),
      ends.map(({ end }) => end.status),
      ends.map(({ end }) => (end.error ? jsonText(end.error) : null)),
      ends.map(({ end }) => end.values ?? null),
      ends.map(({ end }) => end.interrupts ?? null),
      ends.map(({ end }) => end.threadStatus),
    ],
  });
  return new Map(rows.map((row) => [row.ended_run, { isAccepted: row.accepted, hasNext: row.has_next }]));
}
