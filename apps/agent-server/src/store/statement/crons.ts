import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { boundedPage, fitsRow, requireFit, jsonbText, jsonText } from '../json-text.js';
import { requireAdmitted } from './change-thread.js';
import {
  CRON_COLUMNS,
  CRON_CONDITIONS,
  cronNotFound,
  type CronRow,
  type CronSearch,
  cronValues,
  payloadText,
  wireCron,
  type WireCron,
  type CronTiming,
} from '../row/cron-row.js';
import { type Scope, type WorkerScope, visible } from '../scope.js';
import type { Sql } from '../sql.js';

/** @param isLocked until the end of the transaction it neither fires nor changes */
export async function findCron(
  scope: Scope,
  sql: Sql,
  cronId: string,
  isLocked = false,
): Promise<WireCron | undefined> {
  const { rows } = await sql.inScope<CronRow>(scope, {
    text: `SELECT ${CRON_COLUMNS} FROM agentplane.crons c WHERE c.cron_id = $2 AND ${visible('c.metadata')}
      ${isLocked ? 'FOR UPDATE' : ''}`,
    values: [cronId],
  });
  return rows[0] && wireCron(rows[0]);
}

export interface CronPage {
  readonly limit: number;
  readonly offset: number;
  /** A column by its name: it becomes part of the statement. */
  readonly sortBy: 'cron_id' | 'assistant_id' | 'thread_id' | 'created_at' | 'updated_at' | 'next_run_date';
  readonly isAscending: boolean;
}

/** The page; a part of it when its payloads are large. */
export async function searchCrons(
  scope: Scope,
  sql: Sql,
  search: CronSearch,
  { limit, offset, sortBy, isAscending }: CronPage,
): Promise<WireCron[]> {
  const { rows } = await sql.inScope<CronRow>(scope, {
    scans: 'Searching crons',
    text: boundedPage({
      columns: CRON_COLUMNS,
      alias: 'c',
      rows: `SELECT ${CRON_COLUMNS} FROM agentplane.crons c WHERE ${CRON_CONDITIONS}
        ORDER BY c.${sortBy} ${isAscending ? 'ASC' : 'DESC'} NULLS LAST, c.cron_id LIMIT $6 OFFSET $7`,
      large: ['metadata', 'payload'],
    }),
    values: [...cronValues(search), limit, offset],
  });
  return rows.map(wireCron);
}

export async function countCrons(scope: Scope, sql: Sql, search: CronSearch): Promise<number> {
  const { rows } = await sql.inScope<{ count: number }>(scope, {
    scans: 'Counting crons',
    text: `SELECT count(*)::int AS count FROM agentplane.crons c WHERE ${CRON_CONDITIONS}`,
    values: cronValues(search),
  });
  return rows[0]?.count ?? 0;
}

export interface NewCron extends ChangedCron {
  readonly cronId: string;
  readonly assistantId: string;
  readonly threadId: string | undefined;
  readonly caller: JsonObject;
}

/** Limits of the number of crons. */
export interface CronLimits {
  readonly maxCrons: number;
  /** Limit per caller whom the agent authenticates. */
  readonly maxOfCaller: number;
}

interface Counted {
  readonly everyone: number;
  readonly own: number;
}

/**
 * @throws PublicError `conflict` at the limit of crons, `forbidden` for metadata outside of the scope,
 *   `too_large`
 */
export async function createCron(
  scope: Scope,
  sql: Sql,
  cron: NewCron,
  { maxCrons, maxOfCaller }: CronLimits,
): Promise<WireCron> {
  const { rows } = await sql.inScope<Counted & (CronRow | { readonly cron_id: null })>(scope, {
    text: `WITH counted AS (
      SELECT count(*)::int AS everyone, count(*) FILTER (WHERE user_id = $12::text)::int AS own FROM agentplane.crons),
    made AS (INSERT INTO agentplane.crons AS c (cron_id, assistant_id, thread_id, on_run_completed, schedule, timezone,
        end_time, enabled, payload, caller, user_id, metadata, next_run_date)
      SELECT $2::uuid, $3::uuid, $4::uuid, $5, $6, $7, $8::timestamptz, $9::boolean, $10::json, $11::json, $12::text,
        $13::jsonb, $14::timestamptz
      FROM counted WHERE ${visible('$13::jsonb')} AND everyone < $15::int AND own < $16::int
      RETURNING ${CRON_COLUMNS})
    SELECT counted.*, made.* FROM counted LEFT JOIN made ON true`,
    values: [
      cron.cronId,
      cron.assistantId,
      cron.threadId ?? null,
      cron.onRunCompleted,
      cron.schedule,
      cron.timezone ?? null,
      cron.endTime ?? null,
      cron.isEnabled,
      payloadText(cron.payload),
      jsonText(cron.caller),
      cron.userId ?? null,
      jsonbText(cron.metadata),
      cron.nextRunDate ?? null,
      maxCrons,
      cron.userId === undefined ? 1 : maxOfCaller,
    ],
  });
  const [found] = rows;
  if (found && found.cron_id !== null) {
    const { everyone: _everyone, own: _own, ...made } = found;
    return wireCron(made);
  }
  await requireAdmitted(scope, sql, cron.metadata, `Cron ${cron.cronId}`);
  if (found && found.everyone < maxCrons)
    throw new PublicError(
      'conflict',
      `This caller has ${found.own} crons, as many as one may; remove some, or set MAX_CRONS_PER_CALLER of the deployment`,
    );
  throw new PublicError(
    'conflict',
    `The deployment has ${maxCrons} crons, as many as it may; remove some, or set MAX_CRONS of the deployment`,
  );
}

/** A cron after its change. */
interface ChangedCron {
  readonly onRunCompleted: 'delete' | 'keep';
  readonly schedule: string;
  readonly timezone: string | undefined;
  readonly endTime: Date | undefined;
  readonly isEnabled: boolean;
  readonly payload: JsonObject;
  /** Caller of its runs from now on; undefined: as before. */
  readonly caller: JsonObject | undefined;
  /** User id of that caller. */
  readonly userId: string | undefined;
  readonly metadata: JsonObject;
  readonly nextRunDate: Date | undefined;
}

/**
 * Writes a cron that the transaction has locked.
 * @throws PublicError `not_found`; `forbidden` when it would leave the scope; `too_large`
 */
export async function changeCron(
  scope: Scope,
  sql: Sql,
  cronId: string,
  cron: ChangedCron,
): Promise<WireCron> {
  const { rows } = await sql.inScope<CronRow>(scope, {
    text: `UPDATE agentplane.crons c SET on_run_completed = $3, schedule = $4, timezone = $5, end_time = $6,
        enabled = $7::boolean, disabled_reason = CASE WHEN $7::boolean THEN NULL ELSE c.disabled_reason END,
        payload = $8, metadata = $9::jsonb, next_run_date = $10, caller = coalesce($11::json, c.caller),
        user_id = CASE WHEN $11::json IS NULL THEN c.user_id ELSE $12::text END, updated_at = clock_timestamp()
      WHERE c.cron_id = $2 AND ${visible('c.metadata')} AND ${visible('$9::jsonb')} AND ${fitsRow('$9::jsonb')}
      RETURNING ${CRON_COLUMNS}`,
    values: [
      cronId,
      cron.onRunCompleted,
      cron.schedule,
      cron.timezone ?? null,
      cron.endTime ?? null,
      cron.isEnabled,
      payloadText(cron.payload),
      jsonbText(cron.metadata),
      cron.nextRunDate ?? null,
      cron.caller ? jsonText(cron.caller) : null,
      cron.userId ?? null,
    ],
  });
  if (rows[0]) return wireCron(rows[0]);
  await requireAdmitted(scope, sql, cron.metadata, `Cron ${cronId}`);
  requireFit(cron.metadata, `Cron ${cronId}`);
  throw cronNotFound(cronId);
}

/** Answers whether there was one to remove; runs that it made stay. */
export async function removeCron(scope: Scope, sql: Sql, cronId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.crons WHERE cron_id = $2 AND ${visible('metadata')}`,
    values: [cronId],
  });
  return rowCount === 1;
}

/** Removes all crons whose metadata contains this. @returns their number */
export async function removeCrons(scope: Scope, sql: Sql, metadata: JsonObject): Promise<number> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.crons c WHERE ${CRON_CONDITIONS}`,
    values: cronValues({ metadata }),
  });
  return rowCount ?? 0;
}

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
