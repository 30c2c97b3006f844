import { PublicError } from '#lib/errors';
import { CHANNEL } from '../channel.js';
import { jsonbText, jsonText } from '../json-text.js';
import {
  outlineText,
  type StoredRun,
  type QueuedRun,
  type Queueing,
  type TemporaryRow,
  type ThreadSubmission,
} from '../row/run-row.js';
import { threadNotFound } from '../row/thread-row.js';
import { type Scope, type WorkerScope, visibleTo } from '../scope.js';
import type { ServerIdentity } from '../row/claimed-run.js';
import { isUniqueViolation, type Sql } from '../sql.js';

/** Limit of runs that wait on one thread: each claim reads past those that are not the first. */
const MAX_WAITING_ON_THREAD = 10_000;

/**
 * Makes a run. Lock order everywhere: the thread, then its runs. Statements inside a function each see all
 * commits before them, so that after the lock the runs of the thread are read correctly.
 */
export const SUBMIT_RUN = `
CREATE OR REPLACE FUNCTION agentplane.submit_run(
  visible jsonb[], new_run uuid, on_thread uuid, by_assistant uuid, of_graph text, with_metadata jsonb, with_kwargs json,
  strategy text, delay_ms bigint, starter uuid, lease_ms int, watcher uuid, create_thread boolean,
  thread_metadata jsonb, with_outline jsonb
) RETURNS TABLE (outcome text, new_status text, made_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  others int;
  in_the_way int;
  victim record;
  first_status text;
  place_on_thread bigint;
  moment timestamptz;
BEGIN
  IF create_thread THEN
    INSERT INTO agentplane.threads (thread_id, metadata)
      SELECT on_thread, thread_metadata WHERE thread_metadata @> ANY (visible) ON CONFLICT DO NOTHING;
  END IF;
  PERFORM 1 FROM agentplane.threads t WHERE t.thread_id = on_thread AND t.metadata @> ANY (visible) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT CASE WHEN create_thread AND NOT thread_metadata @> ANY (visible)
      THEN 'forbidden' ELSE 'no_thread' END, NULL::text, NULL::timestamptz;
    RETURN;
  END IF;
  moment := clock_timestamp();
  SELECT count(*), count(*) FILTER (WHERE r.status = 'running' OR r.start_after <= moment)
    INTO others, in_the_way
    FROM agentplane.runs r WHERE r.thread_id = on_thread AND r.status IN ('pending', 'running');
  IF others > 0 AND strategy = 'reject' THEN
    RETURN QUERY SELECT 'busy'::text, NULL::text, NULL::timestamptz;
    RETURN;
  END IF;
  IF others >= ${MAX_WAITING_ON_THREAD} AND strategy = 'enqueue' THEN
    RETURN QUERY SELECT 'full'::text, NULL::text, NULL::timestamptz;
    RETURN;
  END IF;
  IF others > 0 AND strategy IN ('interrupt', 'rollback') THEN
    FOR victim IN SELECT r.run_id, r.status FROM agentplane.runs r
      WHERE r.thread_id = on_thread AND r.status IN ('pending', 'running')
    LOOP
      PERFORM agentplane.cancel_run(visible, victim.run_id, on_thread, strategy, 'A newer run took its place');
    END LOOP;
    SELECT count(*) INTO in_the_way FROM agentplane.runs r
      WHERE r.thread_id = on_thread AND r.status IN ('pending', 'running');
  END IF;
  first_status := CASE WHEN starter IS NOT NULL AND in_the_way = 0 AND delay_ms = 0 THEN 'running' ELSE 'pending' END;
  UPDATE agentplane.threads t SET status = 'busy', runs_made = t.runs_made + 1, updated_at = moment,
    resting_status = CASE t.status WHEN 'busy' THEN t.resting_status ELSE t.status END, metadata = t.metadata
    || jsonb_build_object('graph_id', of_graph, 'assistant_id', by_assistant)
    WHERE t.thread_id = on_thread RETURNING t.runs_made INTO place_on_thread;
  INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy,
    metadata, kwargs, created_at, updated_at, start_after, attempt, server_id, lease_until, heartbeat_at, started_at, watchers,
    place, outline)
  VALUES (new_run, on_thread, false, by_assistant, of_graph, first_status, strategy, with_metadata, with_kwargs,
    moment, moment, moment + delay_ms * interval '1 millisecond',
    CASE first_status WHEN 'running' THEN 1 ELSE 0 END,
    CASE first_status WHEN 'running' THEN starter END,
    CASE first_status WHEN 'running' THEN moment + lease_ms * interval '1 millisecond' END,
    CASE first_status WHEN 'running' THEN moment END,
    CASE first_status WHEN 'running' THEN moment END,
    CASE WHEN watcher IS NULL THEN '{}'::uuid[] ELSE ARRAY[watcher] END,
    place_on_thread, with_outline);
  IF first_status = 'pending' THEN PERFORM pg_notify('${CHANNEL}', 'pending:'); END IF;
  RETURN QUERY SELECT 'created'::text, first_status, moment;
END $$;

-- As servers of an earlier version call it, which run beside newer ones while a revision takes over.
CREATE OR REPLACE FUNCTION agentplane.submit_run(
  visible jsonb[], new_run uuid, on_thread uuid, by_assistant uuid, of_graph text, with_metadata jsonb, with_kwargs json,
  strategy text, delay_ms bigint, starter uuid, lease_ms int, watcher uuid, create_thread boolean,
  thread_metadata jsonb
) RETURNS TABLE (outcome text, new_status text, made_at timestamptz) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT CASE s.outcome WHEN 'full' THEN 'busy' ELSE s.outcome END, s.new_status, s.made_at
    FROM agentplane.submit_run(visible, new_run, on_thread, by_assistant, of_graph, with_metadata, with_kwargs, strategy,
      delay_ms, starter, lease_ms, watcher, create_thread, thread_metadata, NULL::jsonb) s;
END $$;
`;

/**
 * Makes runs on several threads at once, one on each. It waits for no other transaction: runs whose threads
 * are held, missing or not visible are left out, as are those whose threads have active runs and that are not
 * simply queued behind them, and missing from the answer; `submit_run` makes them one by one, or returns the
 * reason. So two such statements cannot wait for one another.
 *
 * A thread without any checkpoint is reported as empty: the server that begins the run need not look for its
 * state.
 *
 * Each step finds rows by their keys, and the plans are kept, as making them costs as much as the steps:
 * those made while the tables are small must not read whole tables later.
 */
export const SUBMIT_RUNS = `
CREATE OR REPLACE FUNCTION agentplane.submit_runs(
  new_runs uuid[], on_threads uuid[], visible_to text[], by_assistants uuid[], of_graphs text[], with_metadata text[],
  with_kwargs text[], with_outlines text[], strategies text[], delays_ms bigint[], starts_here boolean[], watchers uuid[],
  starter uuid, lease_ms int
) RETURNS TABLE (new_run uuid, new_status text, made_at timestamptz, is_empty boolean) LANGUAGE plpgsql
SET plan_cache_mode TO force_generic_plan SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off AS $$
DECLARE
  held uuid[];
  moment timestamptz;
BEGIN
  SELECT array_agg(h.thread_id) INTO held FROM (
    SELECT t.thread_id FROM unnest(on_threads, visible_to) AS n(thread_id, visible)
      JOIN agentplane.threads t ON t.thread_id = n.thread_id
    WHERE n.visible IS NULL
      OR EXISTS (SELECT 1 FROM jsonb_array_elements(n.visible::jsonb) AS a(document) WHERE t.metadata @> a.document)
    ORDER BY t.thread_id FOR UPDATE OF t SKIP LOCKED) h;
  moment := clock_timestamp();
  RETURN QUERY WITH asked AS (
    SELECT n.*, n.starts AND n.delay_ms = 0 AS is_due_here, o.active, o.in_the_way
    FROM unnest(new_runs, on_threads, by_assistants, of_graphs, with_metadata, with_kwargs, with_outlines, strategies, delays_ms,
        starts_here, watchers) WITH ORDINALITY
      AS n(run_id, thread_id, assistant_id, graph_id, metadata, kwargs, outline, strategy, delay_ms, starts, watcher, nth)
    CROSS JOIN LATERAL (
      SELECT count(*) AS active,
        count(*) FILTER (WHERE r.status = 'running' OR r.start_after <= moment) AS in_the_way
      FROM agentplane.runs r WHERE r.thread_id = n.thread_id AND r.status IN ('pending', 'running')) o
    WHERE n.thread_id = ANY (held)),
  -- a run that would begin beside a delayed one goes alone: another server may take that one at this moment
  taken AS (
    SELECT a.*, CASE WHEN a.active = 0 AND a.is_due_here THEN 'running' ELSE 'pending' END AS first_status FROM asked a
    WHERE a.active = 0 OR a.strategy = 'enqueue' AND a.active < ${MAX_WAITING_ON_THREAD}
      AND NOT (a.is_due_here AND a.in_the_way = 0)),
  counted AS (
    UPDATE agentplane.threads t SET status = 'busy', runs_made = t.runs_made + 1, updated_at = moment,
      resting_status = CASE t.status WHEN 'busy' THEN t.resting_status ELSE t.status END, metadata = t.metadata
      || jsonb_build_object('graph_id', n.graph_id, 'assistant_id', n.assistant_id)
    FROM taken n WHERE t.thread_id = n.thread_id RETURNING t.thread_id, t.runs_made),
  made AS (
    INSERT INTO agentplane.runs AS r (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy,
      metadata, kwargs, created_at, updated_at, start_after, attempt, server_id, lease_until, heartbeat_at, started_at,
      watchers, place, outline)
    SELECT n.run_id, n.thread_id, false, n.assistant_id, n.graph_id, n.first_status, n.strategy, n.metadata::jsonb,
      n.kwargs::json, moment, moment, moment + n.delay_ms * interval '1 millisecond',
      CASE n.first_status WHEN 'running' THEN 1 ELSE 0 END,
      CASE n.first_status WHEN 'running' THEN starter END,
      CASE n.first_status WHEN 'running' THEN moment + lease_ms * interval '1 millisecond' END,
      CASE n.first_status WHEN 'running' THEN moment END,
      CASE n.first_status WHEN 'running' THEN moment END,
      CASE WHEN n.watcher IS NULL THEN '{}'::uuid[] ELSE ARRAY[n.watcher] END,
      c.runs_made, n.outline::jsonb
    FROM taken n JOIN counted c ON c.thread_id = n.thread_id ORDER BY n.nth
    RETURNING r.run_id, r.thread_id, r.status)
  SELECT m.run_id, m.status, moment,
    NOT EXISTS (SELECT 1 FROM agentplane.checkpoints c WHERE c.thread_id = m.thread_id::text) FROM made m;
  IF EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.run_id = ANY (new_runs) AND r.status = 'pending')
    THEN PERFORM pg_notify('${CHANNEL}', 'pending:'); END IF;
END $$;
`;

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
