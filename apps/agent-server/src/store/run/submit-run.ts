import { PublicError } from '#lib/errors';
import { CHANNEL } from '../channel.js';
import { MAX_WAITING_ON_THREAD } from '../functions/submission-functions.js';
import { jsonbText, jsonText } from '../json-text.js';
import { outlineText } from '../row/run-outline.js';
import type { StoredRun } from '../row/stored-run.js';
import type { QueuedRun, Queueing, TemporaryRow, ThreadSubmission } from '../row/submission.js';
import { threadNotFound } from '../row/thread-row.js';
import type { Scope, WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import { isUniqueViolation, type Sql } from '../sql.js';
import { visibleTo } from '../visible.js';

/** Wakes the servers: a run may be due. */
export async function notifyPending(scope: WorkerScope, sql: Sql): Promise<void> {
  await sql.asWorker(scope, { text: `SELECT pg_notify('${CHANNEL}', 'pending:')` });
}

interface SubmittedOfMany {
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
  const { rows } = await sql.asWorker<SubmittedOfMany>(scope, {
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

const INSERT = `
INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata,
  kwargs, start_after, attempt, server_id, lease_until, heartbeat_at, started_at, watchers, outline)
SELECT n.run_id, n.thread_id, true, n.assistant_id, n.graph_id, CASE WHEN n.start_here THEN 'running' ELSE 'pending' END,
  'enqueue', n.metadata, n.kwargs::json, clock_timestamp() + n.delay_ms * interval '1 millisecond',
  CASE WHEN n.start_here THEN 1 ELSE 0 END, CASE WHEN n.start_here THEN $2::uuid END,
  CASE WHEN n.start_here THEN clock_timestamp() + $3 * interval '1 millisecond' END,
  CASE WHEN n.start_here THEN clock_timestamp() END, CASE WHEN n.start_here THEN clock_timestamp() END,
  CASE WHEN n.is_watched THEN ARRAY[$2::uuid] ELSE '{}'::uuid[] END, n.outline
FROM json_to_recordset($1::json) AS n(run_id uuid, thread_id uuid, assistant_id uuid, graph_id text, metadata jsonb,
  kwargs text, delay_ms bigint, start_here boolean, is_watched boolean, visible jsonb[], outline jsonb)
WHERE n.visible IS NULL OR n.metadata @> ANY (n.visible)
RETURNING run_id`;

/**
 * Makes runs of several callers in one statement, each under its own scope.
 * @returns the ids of those made; the metadata of the others is outside of their scopes
 */
export async function submitTemporaryRuns(
  scope: WorkerScope,
  sql: Sql,
  { serverId, leaseMs }: ServerIdentity,
  submissions: readonly TemporaryRow[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql.asWorker<{ run_id: string }>(scope, {
    name: 'submit-temporary-runs',
    text: INSERT,
    values: [`[${submissions.map(({ text }) => text).join(',')}]`, serverId, leaseMs],
  });
  if (submissions.some(({ submission }) => !submission.queueing.startsHere))
    void notifyPending(scope, sql).catch(() => undefined); // a hint: looking once a second finds them too
  return new Set(rows.map((row) => row.run_id));
}

const SUBMIT = `SELECT outcome, new_status, made_at
  FROM agentplane.submit_run($1::jsonb[], $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`;

/** Above it a statement is limited like a transaction: one caller's must not have all connections. */
const LARGE_CHARS = 256 * 1024;

interface Submitted {
  readonly outcome: 'created' | 'busy' | 'full' | 'no_thread' | 'forbidden';
  readonly new_status: QueuedRun['status'];
  readonly made_at: Date;
}

/**
 * Makes a run on a thread. It starts at once (`running`, the lease is ours) when requested and no other is
 * before it.
 * @param kwargs its text, when it is made already
 * @throws PublicError `not_found` without such a thread, `conflict` when the strategy is `reject` and a run
 *   is active, `too_many` at the limit of waiting runs, `forbidden` when a thread made for it would be
 *   outside of the scope
 */
export async function submitRun(
  scope: Scope,
  sql: Sql,
  server: ServerIdentity,
  run: StoredRun,
  queueing: Queueing,
  kwargs = jsonText(run.kwargs),
): Promise<QueuedRun> {
  try {
    return await submit(scope, sql, server, run, queueing, kwargs);
  } catch (error) {
    // Another server has just taken a delayed run of the thread: this one is queued
    if (queueing.startsHere && isUniqueViolation(error))
      return submit(scope, sql, server, run, { ...queueing, startsHere: false }, kwargs);
    throw error;
  }
}

async function submit(
  scope: Scope,
  sql: Sql,
  { serverId, leaseMs }: ServerIdentity,
  run: StoredRun,
  queueing: Queueing,
  kwargs: string,
): Promise<QueuedRun> {
  const { rows } = await sql.inScope<Submitted>(scope, {
    name: 'submit-run',
    takesTurn: queueing.newThread === undefined && kwargs.length > LARGE_CHARS,
    text: SUBMIT,
    values: [
      run.runId,
      run.threadId,
      run.assistantId,
      run.graphId,
      jsonbText(run.metadata),
      kwargs,
      queueing.strategy,
      queueing.delayMs,
      queueing.startsHere ? serverId : null,
      leaseMs,
      queueing.isWatched ? serverId : null,
      queueing.newThread !== undefined,
      jsonbText(queueing.newThread ?? {}),
      outlineText(run, kwargs),
    ],
    locks: run.threadId,
    mayCreate: queueing.newThread !== undefined,
  });
  const submitted = rows[0];
  if (!submitted) throw threadNotFound(run.threadId);
  switch (submitted.outcome) {
    case 'created':
      return { status: submitted.new_status, createdAt: submitted.made_at };
    case 'busy':
      throw new PublicError(
        'conflict',
        `Thread ${run.threadId} has an active run, and the multitask strategy of the new one is "reject"`,
      );
    case 'full':
      throw new PublicError(
        'too_many',
        `Thread ${run.threadId} has ${MAX_WAITING_ON_THREAD} runs that wait or are at work, as many as it may; cancel some, or retry once some have ended`,
      );
    case 'forbidden':
      throw new PublicError(
        'forbidden',
        `Thread ${run.threadId}: its metadata is outside what this caller may access`,
      );
    case 'no_thread':
      throw threadNotFound(run.threadId);
    default:
      return submitted.outcome satisfies never;
  }
}
