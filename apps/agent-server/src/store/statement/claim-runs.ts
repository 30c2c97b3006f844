import {
  type AskedEnd,
  askedEnd,
  type AskedEndRow,
  CLAIMED_COLUMNS,
  type ClaimedRow,
  claimedRun,
  type ClaimedRun,
  ENDING_COLUMNS,
  INPUT,
  type WorkedRun,
  type ServerIdentity,
} from '../row/claimed-run.js';
import { CALLER_OF_RUN } from '../row/run-row.js';
import { type Scope, type WorkerScope, RUN_IS_VISIBLE } from '../scope.js';
import { isUniqueViolation, type Sql } from '../sql.js';
import { notifyPending } from './submit-run.js';

/** Limits of running runs at all servers together; 0: no limit. */
export interface RunLimits {
  readonly perAssistant: number;
  readonly perCaller: number;
}

const NO_LIMITS: RunLimits = { perAssistant: 0, perCaller: 0 };

const CLAIM = `SELECT ${CLAIMED_COLUMNS} FROM agentplane.claim_limited_runs($1, $2, $3, $4, $5, $6) r ORDER BY r.ordinal`;

/**
 * Takes up to `limit` runs that are due and within the limits. Callers take turns: the oldest run of the one with the
 * fewest runs at work is next.
 */
export async function claimRuns(
  scope: WorkerScope,
  sql: Sql,
  { serverId, leaseMs, graphIds }: ServerIdentity,
  limit: number,
  { perAssistant, perCaller }: RunLimits = NO_LIMITS,
): Promise<ClaimedRun[]> {
  try {
    const { rows } = await sql.asWorker<ClaimedRow>(scope, {
      name: 'claim-runs',
      text: CLAIM,
      values: [limit, serverId, leaseMs, graphIds, perAssistant, perCaller],
    });
    return rows.map(claimedRun);
  } catch (error) {
    if (isUniqueViolation(error)) return [];
    throw error;
  }
}

/**
 * Reason for which a pending run waits: its time, another run of its thread, a limit, or a server with a free
 * place.
 */
export type Obstacle = 'time' | 'thread' | 'assistant_limit' | 'caller_limit' | 'server';

const FIND = `
SELECT CASE
  WHEN r.start_after > clock_timestamp() THEN 'time'
  WHEN EXISTS (SELECT 1 FROM agentplane.runs o WHERE o.thread_id = r.thread_id AND (o.status = 'running'
    OR (o.status = 'pending' AND o.ordinal < r.ordinal AND o.start_after <= clock_timestamp()))) THEN 'thread'
  WHEN $3::int > 0 AND (SELECT count(*) FROM agentplane.runs o
    WHERE o.status = 'running' AND o.assistant_id = r.assistant_id) >= $3 THEN 'assistant_limit'
  WHEN $4::int > 0 AND (SELECT count(*) FROM (SELECT ${CALLER_OF_RUN} AS caller FROM agentplane.runs r
    WHERE r.status = 'running') o WHERE o.caller = ${CALLER_OF_RUN}) >= $4 THEN 'caller_limit'
  ELSE 'server' END AS obstacle
FROM agentplane.runs r WHERE r.run_id = $2 AND r.status = 'pending' AND ${RUN_IS_VISIBLE}`;

/** Undefined for a run that does not wait. */
export async function findObstacle(
  scope: Scope,
  sql: Sql,
  runId: string,
  { perAssistant, perCaller }: RunLimits,
): Promise<Obstacle | undefined> {
  const { rows } = await sql.inScope<{ obstacle: Obstacle }>(scope, {
    text: FIND,
    values: [runId, perAssistant, perCaller],
  });
  return rows[0]?.obstacle;
}

/**
 * Input of an attempt, as JSON text that this server does not parse; undefined once another attempt has the
 * run.
 */
export async function readInput(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: ClaimedRun,
): Promise<string | undefined> {
  const { rows } = await sql.asWorker<{ input: string }>(scope, {
    text: `SELECT ${INPUT} AS input FROM agentplane.runs r WHERE r.run_id = $1 AND r.attempt = $2 AND r.status = 'running'`,
    values: [runId, attempt],
  });
  return rows[0]?.input;
}

/** A run that goes back into the queue. */
export interface ReturnedRun extends WorkedRun {
  /** True when a client still reads it, or waits for its end, at the server that had it. */
  readonly isRead: boolean;
}

const HAND_BACK = `
UPDATE agentplane.runs r SET status = 'pending', server_id = NULL, lease_until = NULL, updated_at = clock_timestamp(),
  watchers = array_remove(r.watchers, r.server_id) || CASE WHEN b.is_read THEN ARRAY[r.server_id] ELSE '{}' END,
  streamed = r.streamed OR b.is_read, worked_ms = b.worked_ms
FROM unnest($1::uuid[], $2::int[], $3::float8[], $4::boolean[]) AS b(run_id, attempt, worked_ms, is_read)
WHERE r.run_id = b.run_id AND r.attempt = b.attempt AND r.status = 'running'`;

/**
 * Puts runs back into the queue, where any server may take them as the next attempt; refused from an old
 * attempt. The server that takes one relays its output to the server of its readers from the first event on:
 * a short run may end before they ask.
 */
export async function handBackRuns(
  scope: WorkerScope,
  sql: Sql,
  runs: readonly ReturnedRun[],
): Promise<void> {
  if (runs.length === 0) return;
  await sql.asWorker(scope, {
    text: HAND_BACK,
    values: [
      runs.map((run) => run.runId),
      runs.map((run) => run.attempt),
      runs.map((run) => run.workedMs),
      runs.map((run) => run.isRead),
    ],
  });
  await notifyPending(scope, sql);
}

const RETRY = `
UPDATE agentplane.runs r SET attempt = r.attempt + 1, takeovers = r.takeovers + $3,
  heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + $5 * interval '1 millisecond',
  updated_at = clock_timestamp(), worked_ms = $6
WHERE r.run_id = $1 AND r.attempt = $2 AND r.status = 'running' AND r.takeovers + $3 <= $4
RETURNING ${CLAIMED_COLUMNS}`;

/**
 * Begins the next attempt of a run at this server, after its process ended.
 * @param isCharged the run ended its process, which may happen as often as it may lose its server
 * @returns undefined when it may not be tried again, or when another attempt has it
 */
export async function retryRun(
  scope: WorkerScope,
  sql: Sql,
  { leaseMs, maxTakeovers }: ServerIdentity,
  { runId, attempt, workedMs }: WorkedRun,
  isCharged: boolean,
): Promise<ClaimedRun | undefined> {
  const { rows } = await sql.asWorker<ClaimedRow>(scope, {
    text: RETRY,
    values: [runId, attempt, isCharged ? 1 : 0, maxTakeovers, leaseMs, workedMs],
  });
  return rows.map(claimedRun)[0];
}

/** State that a renewal found in the row of a run that is still ours. */
export interface Renewed {
  readonly runId: string;
  /** False for a run whose row another statement has locked: its lease ends when it did. */
  readonly isRenewed: boolean;
  readonly cancel: AskedEnd | undefined;
  readonly watchers: readonly string[];
}

interface RenewedRow extends AskedEndRow {
  readonly run_id: string;
  readonly is_renewed: boolean;
  readonly watchers: readonly string[];
}

// a row that is locked for long must not delay the leases of all other runs
const RENEW = `
WITH given AS (SELECT * FROM unnest($1::uuid[], $2::int[], $4::float8[]) AS h(run_id, attempt, worked_ms)),
held AS (
  SELECT r.run_id, h.worked_ms FROM agentplane.runs r JOIN given h ON r.run_id = h.run_id AND r.attempt = h.attempt
  WHERE r.status = 'running' ORDER BY r.run_id FOR NO KEY UPDATE OF r SKIP LOCKED),
renewed AS (
  UPDATE agentplane.runs r SET heartbeat_at = clock_timestamp(),
    lease_until = clock_timestamp() + $3 * interval '1 millisecond', worked_ms = held.worked_ms
  FROM held WHERE r.run_id = held.run_id RETURNING r.run_id)
SELECT r.run_id, r.cancel, r.cancel_reason, r.watchers, EXISTS (SELECT FROM renewed n WHERE n.run_id = r.run_id) AS is_renewed
FROM agentplane.runs r JOIN given h ON r.run_id = h.run_id AND r.attempt = h.attempt WHERE r.status = 'running'`;

/** Renews the leases of our runs, by the database's clock. Runs missing in the answer are ours no more. */
export async function renewLeases(
  scope: WorkerScope,
  sql: Sql,
  { leaseMs }: ServerIdentity,
  runs: readonly WorkedRun[],
): Promise<Renewed[]> {
  const { rows } = await sql.asWorker<RenewedRow>(scope, {
    name: 'renew-leases',
    text: RENEW,
    values: [
      runs.map((run) => run.runId),
      runs.map((run) => run.attempt),
      leaseMs,
      runs.map((run) => run.workedMs),
    ],
  });
  return rows.map((row) => ({
    runId: row.run_id,
    isRenewed: row.is_renewed,
    cancel: askedEnd(row),
    watchers: row.watchers,
  }));
}

// Runs of every graph, unlike those that are taken over: failing a run does not need its graph, and the
// revision that has it may have no server any more.
const WORN_OUT = `SELECT ${ENDING_COLUMNS} FROM agentplane.runs r
  WHERE r.status = 'running' AND r.lease_until < clock_timestamp() AND r.takeovers >= $1 LIMIT 100`;

/** Runs that ended their server too often: they are failed instead of taken over. */
export async function listWornOutRuns(
  scope: WorkerScope,
  sql: Sql,
  { maxTakeovers }: ServerIdentity,
): Promise<ClaimedRun[]> {
  const { rows } = await sql.asWorker<ClaimedRow>(scope, { text: WORN_OUT, values: [maxTakeovers] });
  return rows.map(claimedRun);
}

const TAKE_OVER = `
WITH dead AS (
  SELECT r.run_id FROM agentplane.runs r
  WHERE r.status = 'running' AND r.lease_until < clock_timestamp() AND r.takeovers < $4
    AND r.graph_id = ANY($5)
  ORDER BY r.lease_until LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE agentplane.runs r SET attempt = r.attempt + 1, takeovers = r.takeovers + 1, server_id = $2,
  heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + $3 * interval '1 millisecond',
  updated_at = clock_timestamp()
FROM dead WHERE r.run_id = dead.run_id RETURNING ${CLAIMED_COLUMNS}`;

/** Takes up to `limit` runs whose leases have run out, as their next attempt. */
export async function takeOverRuns(
  scope: WorkerScope,
  sql: Sql,
  { serverId, leaseMs, maxTakeovers, graphIds }: ServerIdentity,
  limit: number,
): Promise<ClaimedRun[]> {
  const { rows } = await sql.asWorker<ClaimedRow>(scope, {
    name: 'take-over-runs',
    text: TAKE_OVER,
    values: [limit, serverId, leaseMs, maxTakeovers, graphIds],
  });
  return rows.map(claimedRun);
}
