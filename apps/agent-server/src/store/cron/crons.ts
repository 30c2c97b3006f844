import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { boundedPage } from '../bounded-page.js';
import { fitsRow, requireFit } from '../document-bytes.js';
import { jsonbText, jsonText } from '../json-text.js';
import { requireAdmitted } from '../metadata/require-admitted.js';
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
} from '../row/cron-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

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
