import type { WireWebhook } from '../row/webhook-row.js';
import { type Scope, type WorkerScope, RUN_IS_VISIBLE } from '../scope.js';
import type { Sql } from '../sql.js';

interface FoundRow extends Omit<WireWebhook, 'next_attempt_at'> {
  readonly next_attempt_at: Date | null;
}

/** Delivery state of the call for a run; undefined before the run has ended, and a week after the call. */
export async function findWebhook(scope: Scope, sql: Sql, runId: string): Promise<WireWebhook | undefined> {
  const { rows } = await sql.inScope<FoundRow>(scope, {
    text: `SELECT r.url, r.state, r.attempts, r.next_attempt_at, r.last_error FROM agentplane.webhooks r
      WHERE r.run_id = $2 AND ${RUN_IS_VISIBLE}`,
    values: [runId],
  });
  const [row] = rows;
  return row && { ...row, next_attempt_at: row.next_attempt_at?.toISOString() ?? null };
}

/** Content of a call, as JSON texts that this server does not parse. */
export interface WebhookTexts {
  /** The run as its caller asked for it, the caller included. */
  readonly run: string;
  readonly values: string | undefined;
}

/** Undefined once another server has repeated the call. */
export async function readWebhook(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: Pick<DueWebhook, 'runId' | 'attempt'>,
): Promise<WebhookTexts | undefined> {
  const { rows } = await sql.asWorker<{ run: string; values: string | null }>(scope, {
    name: 'read-webhook',
    text: `SELECT run::text AS run, run_values::text AS values FROM agentplane.webhooks
      WHERE run_id = $1 AND attempts = $2 AND state = 'pending'`,
    values: [runId, attempt],
  });
  const [row] = rows;
  return row && { run: row.run, values: row.values ?? undefined };
}

/** The `host` of paths of the agent's own HTTP app. */
export const OWN_HOST = '';

/** A call that this server is to make now. */
export interface DueWebhook {
  /** Id of the call: that of the run for its webhook, its own for a notification about a task. */
  readonly runId: string;
  /** True for a notification about a task. */
  readonly isPush: boolean;
  readonly url: string;
  readonly host: string;
  /** Counts from 1; the result of an attempt that another server has repeated since is refused. */
  readonly attempt: number;
  /** Milliseconds since the run ended. */
  readonly ageMs: number;
  /** True when its text is large: few such calls are made at once. */
  readonly isLarge: boolean;
}

/** Bytes above which a call is large. */
const LARGE_BYTES = 1024 * 1024;

export interface WebhookPlaces {
  readonly limit: number;
  /** Limit among them of calls that may take long: all but the first calls of quick hosts. */
  readonly slowLimit: number;
  /** Limit of calls with large texts. */
  readonly largeLimit: number;
  /** Limit among them of calls that may take long. */
  readonly largeSlowLimit: number;
  /** Hosts that lately answered quickly. */
  readonly quickHosts: readonly string[];
  /** Calls of a quick host at a time. */
  readonly perHost: number;
  /** Hosts that have all the calls they may. */
  readonly busyHosts: readonly string[];
  /** Time without a result after which the call is made again, by any server. */
  readonly leaseMs: number;
}

interface DueRow {
  readonly run_id: string;
  readonly url: string;
  readonly host: string;
  readonly attempts: number;
  readonly age_ms: number;
  readonly is_large: boolean;
  readonly is_push: boolean;
}

const IS_LARGE = `coalesce(w.bytes, ${LARGE_BYTES} + 1) > ${LARGE_BYTES}`;

const DUE = "w.state = 'pending' AND w.next_attempt_at <= clock_timestamp()";

const oldest = (isSlow: boolean, which: string): string => `
  (SELECT w.run_id, w.host, w.next_attempt_at, w.attempts > 0 AS is_repeated, ${isSlow} AS is_slow, ${IS_LARGE} AS is_large
  FROM agentplane.webhooks w
  WHERE ${DUE} AND w.host <> ALL ($2) AND (${isSlow ? '$8' : '$7'} > 0 OR NOT ${IS_LARGE}) AND ${which}
  ORDER BY w.next_attempt_at LIMIT 200)`;

/**
 * Each step numbers the calls that the one before admits: a call that has to wait takes no place from those
 * behind it.
 */
const CLAIM = `
WITH oldest AS (
  ${oldest(false, 'w.attempts = 0 AND w.host = ANY ($5)')}
  UNION ALL ${oldest(true, '(w.attempts > 0 OR w.host <> ALL ($5))')}),
of_hosts AS (
  SELECT o.*, row_number() OVER (PARTITION BY o.host ORDER BY o.next_attempt_at) AS place FROM oldest o),
sized AS (
  SELECT o.run_id, o.is_slow, o.is_large, o.is_repeated, o.next_attempt_at,
    row_number() OVER (PARTITION BY o.is_slow, o.is_large ORDER BY o.is_repeated, o.next_attempt_at) AS place
  FROM of_hosts o WHERE o.place <= CASE WHEN o.is_slow THEN 1 ELSE $3 END),
placed AS (
  SELECT s.run_id, s.is_slow, s.is_large, s.is_repeated, s.next_attempt_at,
    row_number() OVER (PARTITION BY s.is_slow ORDER BY s.next_attempt_at) AS place
  FROM sized s WHERE NOT (s.is_slow AND s.is_large) OR s.place <= $8),
admitted AS (
  SELECT p.run_id, p.is_large,
    row_number() OVER (PARTITION BY p.is_large ORDER BY p.is_repeated, p.next_attempt_at) AS large_place
  FROM placed p WHERE NOT p.is_slow OR p.place <= $6),
due AS (
  SELECT w.run_id FROM agentplane.webhooks w JOIN admitted a ON a.run_id = w.run_id
  WHERE (NOT a.is_large OR a.large_place <= $7) AND ${DUE} ORDER BY w.next_attempt_at
  LIMIT $1 FOR UPDATE OF w SKIP LOCKED)
UPDATE agentplane.webhooks w SET attempts = w.attempts + 1,
  next_attempt_at = clock_timestamp() + $4 * interval '1 millisecond'
FROM due WHERE w.run_id = due.run_id
RETURNING w.run_id, w.url, w.host, w.attempts, ${IS_LARGE} AS is_large, w.push_task IS NOT NULL AS is_push,
  (extract(epoch FROM clock_timestamp() - w.created_at) * 1000)::float8 AS age_ms`;

/**
 * Takes calls that are due, the longest waiting first. Calls that may take long cannot have all places:
 * repetitions, and calls of hosts that are slow or not known yet. Among the large ones, first attempts go
 * before repetitions.
 */
export async function claimWebhooks(
  scope: WorkerScope,
  sql: Sql,
  { limit, slowLimit, largeLimit, largeSlowLimit, quickHosts, perHost, busyHosts, leaseMs }: WebhookPlaces,
): Promise<DueWebhook[]> {
  const { rows } = await sql.asWorker<DueRow>(scope, {
    name: 'claim-webhooks',
    text: CLAIM,
    values: [
      limit,
      busyHosts,
      perHost,
      leaseMs,
      quickHosts,
      slowLimit,
      largeLimit,
      Math.min(largeLimit, largeSlowLimit),
    ],
  });
  return rows.map((row) => ({
    runId: row.run_id,
    url: row.url,
    host: row.host,
    attempt: row.attempts,
    ageMs: row.age_ms,
    isLarge: row.is_large,
    isPush: row.is_push,
  }));
}

/** Outcome of an attempt to call. */
export type WebhookResult =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'again'; readonly pauseMs: number; readonly error: string }
  | { readonly kind: 'failed'; readonly error: string };

const SETTLE = `
UPDATE agentplane.webhooks SET state = $3, last_error = $4,
  next_attempt_at = CASE WHEN $3 = 'pending' THEN clock_timestamp() + $5 * interval '1 millisecond' END,
  settled_at = CASE WHEN $3 <> 'pending' THEN clock_timestamp() END,
  run = CASE WHEN $3 = 'pending' THEN run END, run_values = CASE WHEN $3 = 'pending' THEN run_values END
WHERE run_id = $1 AND attempts = $2 AND state = 'pending'`;

/** Records an attempt; its body is forgotten after the last one. Refused from an old attempt. */
export async function settleWebhook(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: DueWebhook,
  result: WebhookResult,
): Promise<void> {
  await sql.asWorker(scope, {
    text: SETTLE,
    values: [
      runId,
      attempt,
      result.kind === 'again' ? 'pending' : result.kind,
      result.kind === 'delivered' ? null : result.error,
      result.kind === 'again' ? result.pauseMs : null,
    ],
  });
}

/** Forgets the call for a run, with its body. @returns true when there was one */
export async function removeWebhook(scope: Scope, sql: Sql, runId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.webhooks r WHERE r.run_id = $2 AND ${RUN_IS_VISIBLE}`,
    values: [runId],
  });
  return rowCount === 1;
}

/** Limit per statement. */
const MAX_ROWS = 10_000;

const SWEEP = `
WITH old AS (
  SELECT run_id FROM agentplane.webhooks
  WHERE state <> 'pending' AND settled_at < clock_timestamp() - interval '7 days' LIMIT $1 FOR UPDATE SKIP LOCKED)
DELETE FROM agentplane.webhooks w USING old WHERE w.run_id = old.run_id`;

/** Forgets calls that succeeded or failed for good a week ago. */
export async function sweepWebhooks(scope: WorkerScope, sql: Sql): Promise<void> {
  for (;;) {
    const { rowCount } = await sql.asWorker(scope, { text: SWEEP, values: [MAX_ROWS] });
    if ((rowCount ?? 0) < MAX_ROWS) return;
  }
}
