import type { JsonObject } from '#lib/json';
import type { CronRow, CronTiming } from '../row/cron-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The time by which crons fire, independent of the clocks of servers. */
export async function databaseTime(scope: WorkerScope, sql: Sql): Promise<Date> {
  const { rows } = await sql.asWorker<{ now: Date }>(scope, { text: 'SELECT clock_timestamp() AS now' });
  if (!rows[0]) throw new Error('the database answered no time');
  return rows[0].now;
}

/** A cron that is due. */
export interface DueCron {
  readonly cronId: string;
  readonly assistantId: string;
  readonly threadId: string | undefined;
  readonly keepsThread: boolean;
  readonly timing: CronTiming;
  readonly payload: JsonObject;
  readonly caller: JsonObject;
  readonly metadata: JsonObject;
  /** The moment for which it fires. */
  readonly dueAt: Date;
  /** The database's time. */
  readonly now: Date;
  /** True when its thread is being changed: firing now would wait for the end of that. */
  readonly hasBusyThread: boolean;
}

type Kept =
  | ('cron_id' | 'assistant_id' | 'thread_id' | 'on_run_completed')
  | ('schedule' | 'timezone' | 'end_time' | 'payload' | 'metadata');

interface Row extends Pick<CronRow, Kept> {
  readonly caller: JsonObject;
  readonly next_run_date: Date;
  readonly now: Date;
  readonly has_busy_thread: boolean;
}

const CLAIM = `
WITH due AS (
SELECT c.cron_id, c.assistant_id, c.thread_id, c.on_run_completed, c.schedule, c.timezone, c.end_time, c.payload, c.caller,
  c.metadata, c.next_run_date, clock_timestamp() AS now
FROM agentplane.crons c LEFT JOIN agentplane.assistants a ON a.assistant_id = c.assistant_id
WHERE c.enabled AND c.next_run_date <= clock_timestamp() AND (a.graph_id IS NULL OR a.graph_id = ANY ($1))
  AND c.cron_id <> ALL ($2::uuid[])
ORDER BY c.next_run_date LIMIT 1 FOR UPDATE OF c SKIP LOCKED),
locked AS (
  SELECT t.thread_id FROM agentplane.threads t JOIN due d ON d.thread_id = t.thread_id FOR UPDATE OF t SKIP LOCKED)
SELECT d.*, NOT EXISTS (SELECT 1 FROM locked) AND t.thread_id IS NOT NULL AS has_busy_thread
FROM due d LEFT JOIN agentplane.threads t ON t.thread_id = d.thread_id`;

/**
 * Locks the cron that is due for the longest time and that no other server has just now, and its thread.
 * Crons of graphs that this revision does not have are left to others; any server takes those whose assistant
 * is gone.
 * @param except crons that are left alone
 */
export async function claimCron(
  scope: WorkerScope,
  sql: Sql,
  graphIds: readonly string[],
  except: readonly string[] = [],
): Promise<DueCron | undefined> {
  const { rows } = await sql.asWorker<Row>(scope, {
    name: 'claim-cron',
    text: CLAIM,
    values: [graphIds, except],
  });
  const [row] = rows;
  return (
    row && {
      cronId: row.cron_id,
      assistantId: row.assistant_id,
      threadId: row.thread_id ?? undefined,
      keepsThread: row.on_run_completed === 'keep',
      timing: {
        schedule: row.schedule,
        timezone: row.timezone ?? undefined,
        endTime: row.end_time ?? undefined,
      },
      payload: row.payload,
      caller: row.caller,
      metadata: row.metadata,
      dueAt: row.next_run_date,
      now: row.now,
      hasBusyThread: row.has_busy_thread,
    }
  );
}

/** Outcome of a fire. */
export interface CronResult {
  /** The run that it made. */
  readonly runId?: string;
  /** Reason for which it made no run. */
  readonly error?: string;
  readonly nextRunDate: Date | undefined;
  /** Reason for which it is disabled. */
  readonly disabledReason?: string;
}

const SETTLE = `
UPDATE agentplane.crons SET next_run_date = $3, last_run_id = COALESCE($4, last_run_id),
  last_run_date = CASE WHEN $4::uuid IS NULL THEN last_run_date ELSE next_run_date END, last_error = $5,
  enabled = enabled AND $6::text IS NULL, disabled_reason = $6, updated_at = clock_timestamp()
WHERE cron_id = $1 AND next_run_date = $2`;

/** Records a fire and sets the next one; does nothing when the cron was changed in the meantime. */
export async function settleCron(
  scope: WorkerScope,
  sql: Sql,
  { cronId, dueAt }: DueCron,
  { runId, error, nextRunDate, disabledReason }: CronResult,
): Promise<void> {
  await sql.asWorker(scope, {
    text: SETTLE,
    values: [
      cronId,
      dueAt,
      nextRunDate ?? null,
      runId ?? null,
      error ?? disabledReason ?? null,
      disabledReason ?? null,
    ],
  });
}
