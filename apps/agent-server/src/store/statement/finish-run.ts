import { jsonText } from '../json-text.js';
import {
  type Acceptance,
  type AskedEnd,
  askedEnd,
  type AskedEndRow,
  type ClaimedRun,
  endedTemporary,
  noOtherAttempt,
  type RunEnd,
} from '../row/claimed-run.js';
import type { CancelAction } from '../row/run-row.js';
import { noteWebhook, WAKE_WEBHOOKS, webhookValues } from '../row/webhook-row.js';
import type { Scope, WorkerScope } from '../scope.js';
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

/** The end of a run without a thread, with the body of its webhook's call. */
export interface CalledEnd extends TemporaryEnd {
  readonly end: RunEnd;
}

/** The row is read as it was before the statement. */
const END_CALLED_RUN = `
WITH ended AS MATERIALIZED (
  SELECT r.run_id FROM agentplane.runs r
  WHERE r.run_id = $1 AND r.attempt = $2 AND r.status = 'running' AND r.temporary FOR UPDATE),
kept AS (
  UPDATE agentplane.runs r SET ${endedTemporary('$4', '$5::json', '$8::boolean')} FROM ended
  WHERE r.run_id = ended.run_id AND $7::boolean),
removed AS (
  DELETE FROM agentplane.runs r USING ended WHERE r.run_id = ended.run_id AND NOT $7::boolean),
noted AS (${noteWebhook({ url: '$3', status: '$4', error: '$5', values: '$6' })}
  FROM agentplane.runs r JOIN ended ON ended.run_id = r.run_id ${WAKE_WEBHOOKS})
SELECT ended.run_id FROM ended LEFT JOIN noted ON true
UNION ALL SELECT $1 WHERE $9::boolean AND ${noOtherAttempt('$1', '$2')}`;

/** Ends a run without a thread and makes its webhook due; false from an old attempt. */
export async function endCalledRun(
  scope: WorkerScope,
  sql: Sql,
  { run, end, isRead, isRepeated }: CalledEnd,
): Promise<boolean> {
  const { rows } = await sql.asWorker(scope, {
    text: END_CALLED_RUN,
    values: [
      run.runId,
      run.attempt,
      run.webhook,
      end.status,
      end.error ? jsonText(end.error) : null,
      webhookValues(end),
      isRead,
      run.isResumable,
      isRepeated,
    ],
  });
  return rows.length > 0;
}

/** The end of a run without a thread. */
export interface TemporaryEnd {
  readonly run: ClaimedRun;
  readonly end: Pick<RunEnd, 'status' | 'error'>;
  /** Its output may still be read: the row stays for a while, without its input. */
  readonly isRead: boolean;
  /**
   * True when an earlier request got no answer: then a row that is already removed counts as removed by that
   * request.
   */
  readonly isRepeated: boolean;
}

// Rows are locked in one order everywhere, so that a renewal and a removal of the same runs cannot deadlock.
const END_TEMPORARY_RUNS = `
WITH ended AS (
  SELECT r.run_id, e.status, e.error, e.is_read, e.resumable FROM agentplane.runs r
    JOIN unnest($1::uuid[], $2::int[], $3::text[], $4::json[], $5::boolean[], $6::boolean[])
      AS e(run_id, attempt, status, error, is_read, resumable) ON r.run_id = e.run_id AND r.attempt = e.attempt
  WHERE r.status = 'running' AND r.temporary ORDER BY r.run_id FOR UPDATE OF r),
kept AS (
  UPDATE agentplane.runs r SET ${endedTemporary('ended.status', 'ended.error', 'ended.resumable')}
  FROM ended WHERE r.run_id = ended.run_id AND ended.is_read RETURNING r.run_id),
removed AS (
  DELETE FROM agentplane.runs r USING ended WHERE r.run_id = ended.run_id AND NOT ended.is_read RETURNING r.run_id)
SELECT run_id FROM kept UNION ALL SELECT run_id FROM removed
UNION ALL SELECT e.run_id FROM unnest($1::uuid[], $2::int[], $7::boolean[]) AS e(run_id, attempt, is_repeated)
  WHERE e.is_repeated AND ${noOtherAttempt('e.run_id', 'e.attempt')}`;

/**
 * Ends runs without a thread.
 * @returns the ids of those ended; newer attempts have the others
 */
export async function endTemporaryRuns(
  scope: WorkerScope,
  sql: Sql,
  ends: readonly TemporaryEnd[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql.asWorker<{ run_id: string }>(scope, {
    name: 'end-temporary-runs',
    text: END_TEMPORARY_RUNS,
    values: [
      ends.map(({ run }) => run.runId),
      ends.map(({ run }) => run.attempt),
      ends.map(({ end }) => end.status),
      ends.map(({ end }) => (end.error ? jsonText(end.error) : null)),
      ends.map(({ isRead }) => isRead),
      ends.map(({ run }) => run.isResumable),
      ends.map(({ isRepeated }) => isRepeated),
    ],
  });
  return new Set(rows.map((row) => row.run_id));
}

/** `done`: it had not begun and never will; `asked`: the server at work will end it; `ended`: too late. */
export type CancelOutcome = 'done' | 'asked' | 'ended' | 'no_run';

/** Ends a waiting run; asks the executing server to end a running one. */
export async function cancelRun(
  scope: Scope,
  sql: Sql,
  runId: string,
  threadId: string,
  action: CancelAction,
  reason = 'Cancelled by request',
): Promise<CancelOutcome> {
  const { rows } = await sql.inScope<{ outcome: CancelOutcome }>(scope, {
    text: 'SELECT outcome FROM agentplane.cancel_run($1::jsonb[], $2, $3, $4, $5)',
    values: [runId, threadId, action, reason],
    locks: threadId,
  });
  return rows[0]?.outcome ?? 'no_run';
}

/** Way in which a run was asked to end, and why; undefined when it was not. */
export async function findCancel(scope: WorkerScope, sql: Sql, runId: string): Promise<AskedEnd | undefined> {
  const { rows } = await sql.asWorker<AskedEndRow>(scope, {
    text: 'SELECT cancel, cancel_reason FROM agentplane.runs WHERE run_id = $1',
    values: [runId],
  });
  return rows[0] && askedEnd(rows[0]);
}

const FINISH = `SELECT accepted, has_next FROM agentplane.finish_run($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** The row is read as it was before the statement: a rollback removes it. */
const FINISH_WITH_WEBHOOK = `
WITH ended AS MATERIALIZED (${FINISH}),
noted AS (${noteWebhook({ url: '$10', status: '$4', error: '$5', values: '$11' })}
  FROM agentplane.runs r, ended WHERE ended.accepted AND r.run_id = $1 ${WAKE_WEBHOOKS})
SELECT accepted, has_next FROM ended LEFT JOIN noted ON true`;

/** Ends a run on a thread, and makes its webhook due; refused from an old attempt. */
export async function finishRun(
  scope: WorkerScope,
  sql: Sql,
  run: ClaimedRun,
  end: RunEnd,
): Promise<Acceptance> {
  const { webhook } = run;
  const ended = [
    run.runId,
    run.attempt,
    run.threadId,
    end.status,
    end.error ? jsonText(end.error) : null,
    end.isRollback ?? false,
    end.values ?? null,
    end.interrupts ?? null,
    end.threadStatus,
  ];
  const { rows } = await sql.asWorker<{ accepted: boolean; has_next: boolean }>(
    scope,
    webhook
      ? { text: FINISH_WITH_WEBHOOK, values: [...ended, webhook, webhookValues(end)] }
      : { name: 'finish-run', text: FINISH, values: ended },
  );
  return { isAccepted: rows[0]?.accepted ?? false, hasNext: rows[0]?.has_next ?? false };
}
