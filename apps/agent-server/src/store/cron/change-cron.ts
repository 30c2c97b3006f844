import type { JsonObject } from '#lib/json';
import { jsonbText, jsonText } from '../json-text.js';
import { payloadText } from '../row/cron-payload.js';
import { fitsRow, requireFit } from '../document-bytes.js';
import { requireAdmitted } from '../metadata/require-admitted.js';
import { CRON_COLUMNS, cronNotFound, wireCron, type CronRow, type WireCron } from '../row/cron-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** A cron after its change. */
export interface ChangedCron {
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
